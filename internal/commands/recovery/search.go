package recovery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/address"
	"slipway/internal/clouds"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/openstack"
	"slipway/internal/ovh"
	"slipway/internal/tofu"
)

// clockSkew is how far a cloud's clock may be behind ours: an object created shortly before the
// request in the journal may be the requested one.
const clockSkew = 5 * time.Minute

// searchAll looks in the clouds for objects left by unfinished creates: of the type, name and
// location in the code, not older than the run, and not in the state. A create that was only
// planned may have started just before the run was killed. It imports those with exactly one match,
// and looks again: an imported network has an ID, and a port in it can be told from others by it.
//
// It returns the imported creates, those that could not be imported, and the addresses whose outcome
// is unknown. It reports all of them.
func searchAll(ctx context.Context, l *layer.Layer, outcome journal.Outcome) (found, left []journal.Entry, unknown []string, err error) {
	s := newSearch(l, outcome)
	if len(s.creates)+len(s.unfindable) == 0 {
		return nil, nil, nil, nil
	}
	if err := s.readState(ctx); err != nil {
		return nil, nil, nil, err
	}
	unknown = s.notFindable()
	for len(s.creates) > 0 {
		var complete bool
		if s.wishes, complete, err = wishesOf(ctx, l, s.creates, found); err != nil {
			return nil, nil, nil, err
		}
		if !complete {
			s.dropBlocked()
		}
		round, err := s.all(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		if len(round.found) == 0 {
			for _, note := range round.notes {
				l.Reportf("%s", note)
			}
			return found, left, append(unknown, round.open...), nil
		}
		failed, err := importAll(ctx, l, round.found)
		if err != nil {
			return nil, nil, nil, err
		}
		found, left = append(found, round.found...), append(left, failed...)
		s.drop(round.found)
		if err := s.readState(ctx); err != nil {
			return nil, nil, nil, err
		}
	}
	return found, left, unknown, nil
}

// A search is what is known while looking for unfinished creates.
type search struct {
	*layer.Layer
	clouds     *clouds.Clouds
	outcome    journal.Outcome
	creates    []journal.Entry // creates that a cloud can be searched for
	begun      map[string]bool // addresses of creates that are known to have started
	unfindable []journal.Entry // creates of types that no cloud can be searched for

	recorded map[string]*tfjson.StateResource // by address
	known    map[string]bool                  // type and ID of everything in the state
	wishes   map[string]wish                  // by address
}

// newSearch sorts the unfinished changes into those that can be searched for, those that cannot,
// and those that need no search.
func newSearch(l *layer.Layer, outcome journal.Outcome) *search {
	s := &search{Layer: l, clouds: clouds.Of(l.Run), outcome: outcome, begun: map[string]bool{}}
	for _, e := range outcome.InFlight {
		switch {
		case e.Action != "create":
			l.Reportf("%s was in flight (%s): the next plan shows what is left to do", e.Address, e.Action)
		case address.OfType(e.Address, canFind):
			s.begun[e.Address] = true
			s.creates = append(s.creates, e)
		default:
			s.unfindable = append(s.unfindable, e)
		}
	}
	for _, e := range outcome.Planned {
		if address.OfType(e.Address, canFind) {
			s.creates = append(s.creates, e)
		}
	}
	return s
}

func (s *search) readState(ctx context.Context) error {
	recorded, err := s.Recorded(ctx)
	if err == nil {
		s.in(recorded)
	}
	return err
}

// in records what is in the state.
func (s *search) in(recorded map[string]*tfjson.StateResource) {
	s.recorded, s.known = recorded, map[string]bool{}
	for _, resource := range recorded {
		s.known[resource.Type+" "+layer.Attribute(resource, "id")] = true
	}
}

// drop looks no longer for creates.
func (s *search) drop(creates []journal.Entry) {
	s.creates = slices.DeleteFunc(s.creates, func(e journal.Entry) bool {
		return slices.ContainsFunc(creates, func(other journal.Entry) bool { return other.Address == e.Address })
	})
}

// dropBlocked looks no longer for creates that were only planned and are not in a plan, because they depend on
// something that was imported and is not ready: tofu had not begun them, as it waits for that itself.
func (s *search) dropBlocked() {
	s.creates = slices.DeleteFunc(s.creates, func(e journal.Entry) bool {
		_, there := s.wishes[e.Address]
		return !there && !s.begun[e.Address]
	})
}

// notFindable returns the addresses of resources that no cloud can be searched for and that are not
// in the state.
func (s *search) notFindable() (unknown []string) {
	for _, e := range s.unfindable {
		// A resource in the state is the created one, unless it is the one to be replaced.
		if s.recorded[e.Address] != nil && !slices.Contains(s.outcome.Replaced, e.Address) {
			s.Reportf("%s was in flight (create), and is in the state", e.Address)
			continue
		}
		s.Reportf("%s was in flight (create): check whether it was created", e.Address)
		unknown = append(unknown, e.Address)
	}
	return unknown
}

// A round is the outcome of looking once for each create.
type round struct {
	found []journal.Entry // creates with exactly one match
	open  []string        // addresses whose outcome is unknown
	notes []string        // on the creates without exactly one match
}

func (s *search) all(ctx context.Context) (r round, err error) {
	for _, e := range s.creates {
		id, open, note, err := s.one(ctx, e)
		if err != nil {
			return round{}, err
		}
		switch {
		case id != "":
			r.found = append(r.found, journal.Entry{Address: e.Address, Action: e.Action, IDKey: "id", ID: id})
			if s.begun[e.Address] {
				s.Reportf("%s was in flight (create), and it exists in the cloud", e.Address)
			}
		case open:
			r.open = append(r.open, e.Address)
		}
		if note != "" {
			r.notes = append(r.notes, e.Address+" "+note)
		}
	}
	return r, nil
}

// one looks for one create. It returns the ID of the only object that can be the created one, after
// removing the object that it replaced from the state. open means that the outcome is still
// unknown. note says what was found otherwise; empty: nothing worth a line.
func (s *search) one(ctx context.Context, e journal.Entry) (id string, open bool, note string, err error) {
	begun, w, old := s.begun[e.Address], s.wishes[e.Address], s.recorded[e.Address]
	since := s.outcome.Began[e.Address]
	if since.IsZero() {
		since = e.Time
	}
	ids, undated, certain, err := findInClouds(ctx, s.clouds, w, since.Add(-clockSkew))
	if err != nil {
		return "", false, "", err
	}
	asked := certain || len(ids)+len(undated) > 0
	other := func(id string) bool { return s.known[w.kind+" "+id] }
	ids, undated = slices.DeleteFunc(ids, other), slices.DeleteFunc(undated, other)
	switch {
	case !certain && len(ids)+len(undated) > 0:
		return "", true, fmt.Sprintf("was to be created, and %s in the cloud may be it: not all of its settings are known before an apply", strings.Join(slices.Concat(ids, undated), ", ")), nil
	case len(ids) > 1:
		return "", true, fmt.Sprintf("was to be created, and %d objects in the cloud match it: %s", len(ids), strings.Join(ids, ", ")), nil
	case len(ids) == 0 && len(undated) > 0:
		return "", true, fmt.Sprintf("was to be created, and %s in the cloud matches it but may be older: the cloud does not report its age", strings.Join(undated, ", ")), nil
	case len(ids) == 0 && !asked && begun:
		return "", true, "was in flight (create): check whether it was created", nil
	case len(ids) == 0 && !asked && (old == nil || slices.Contains(s.outcome.Replaced, e.Address)):
		return "", true, "was to be created, and the cloud could not be asked: check whether it was created", nil
	case len(ids) == 0 && !begun:
		return "", false, "", nil
	case len(ids) == 0 && old != nil:
		return "", false, "was in flight (create), and is in the state", nil
	case len(ids) == 0:
		return "", false, "was in flight (create), but nothing in the cloud matches it: the next apply creates it", nil
	}
	if old != nil {
		all, _, _, err := findInClouds(ctx, s.clouds, w, time.Time{})
		if err != nil {
			return "", false, "", err
		}
		if oldID := layer.Attribute(old, "id"); slices.Contains(all, oldID) {
			return "", true, fmt.Sprintf("was to be recreated, and the cloud has the old object (%s) and another (%s): delete one of them", oldID, ids[0]), nil
		}
		if err := forget(ctx, s.Layer, e.Address); err != nil {
			return "", false, "", err
		}
	}
	return ids[0], false, "", nil
}

// canFind reports whether one of the clouds can be searched for resources of a type.
func canFind(kind string) bool { return openstack.CanFind(kind) || ovh.CanFind(kind) }

// findInClouds queries the cloud that a resource belongs to. certain is false if any of the objects
// may be the one. Without an object, it is false if the cloud could not be asked: too little is
// known, or we have no credentials to use, because the code gives its provider others. Undated
// objects may be older than since.
func findInClouds(ctx context.Context, clouds *clouds.Clouds, w wish, since time.Time) (ids, undated []string, certain bool, err error) {
	switch {
	case openstack.CanFind(w.kind) && clouds.Need(openstack.Required, "servers") == nil:
		cloud, err := clouds.OpenStack(ctx)
		if err != nil {
			return nil, nil, false, err
		}
		ids, certain, err = cloud.Find(ctx, w.kind, w.values, since)
		return ids, nil, certain, err
	case ovh.CanFind(w.kind) && clouds.Need(ovh.Required, "databases") == nil:
		account, err := clouds.OVH()
		if err != nil {
			return nil, nil, false, err
		}
		return account.Find(ctx, w.kind, w.values, since)
	default:
		return nil, nil, false, nil
	}
}

// Resource types that an import does not restore completely.
const (
	databaseUser  = "ovh_cloud_project_database_postgresql_user" // its password was only in the response to its creation
	securityGroup = "openstack_networking_secgroup_v2"           // it may still have the default rules of a new group
)

// taintIncomplete taints resources that an import does not restore completely, so that the next
// apply replaces them.
func taintIncomplete(ctx context.Context, l *layer.Layer, made, unseen []journal.Entry) error {
	if !slices.ContainsFunc(slices.Concat(made, unseen), func(e journal.Entry) bool {
		return address.OfType(e.Address, func(kind string) bool { return kind == databaseUser || kind == securityGroup })
	}) {
		return nil
	}
	recorded, err := l.Recorded(ctx)
	if err != nil {
		return err
	}
	return taint(ctx, l, incomplete(recorded, made, unseen))
}

// taint taints resources, so that the next apply recreates them. The map gives the reason by
// address.
func taint(ctx context.Context, l *layer.Layer, why map[string]string) error {
	for _, address := range slices.Sorted(maps.Keys(why)) {
		if err := l.Tofu(ctx, "taint", tofu.TaintArgs(address)...); err != nil {
			return err
		}
		l.Reportf("%s will be recreated: %s", address, why[address])
	}
	return nil
}

// incomplete returns, by address, why resources in the state have to be recreated: a user without its
// password, and a security group whose create was not seen to complete.
func incomplete(recorded map[string]*tfjson.StateResource, made, unseen []journal.Entry) map[string]string {
	why := map[string]string{}
	for _, e := range slices.Concat(made, unseen) {
		if resource := recorded[e.Address]; resource != nil && resource.Type == databaseUser && layer.Attribute(resource, "password") == "" {
			why[e.Address] = "its password is not known"
		}
	}
	for _, e := range unseen {
		if resource := recorded[e.Address]; resource != nil && resource.Type == securityGroup && e.Action == "create" {
			why[e.Address] = "it may be incomplete"
		}
	}
	return why
}
