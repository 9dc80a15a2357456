package recovery

import (
	"context"
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
// planned may have started just before the run was killed. It returns the creates with exactly one
// match, and the addresses whose outcome is unknown. It reports all of them.
func searchAll(ctx context.Context, l *layer.Layer, outcome journal.Outcome) (found []journal.Entry, unknown []string, err error) {
	s := newSearch(l, outcome)
	if len(s.creates)+len(s.unfindable) == 0 {
		return nil, nil, nil
	}
	recorded, err := l.Recorded(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.in(recorded)
	unknown = s.notFindable()
	if s.wishes, err = wishesOf(ctx, l, s.creates); err != nil {
		return nil, nil, err
	}
	found, more, err := s.all(ctx)
	return found, append(unknown, more...), err
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

// in records what is in the state.
func (s *search) in(recorded map[string]*tfjson.StateResource) {
	s.recorded, s.known = recorded, map[string]bool{}
	for _, resource := range recorded {
		s.known[resource.Type+" "+layer.Attribute(resource, "id")] = true
	}
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

// all looks for one create after the other.
func (s *search) all(ctx context.Context) (found []journal.Entry, unknown []string, err error) {
	for _, e := range s.creates {
		id, open, err := s.one(ctx, e, s.begun[e.Address])
		if err != nil {
			return nil, nil, err
		}
		if id != "" {
			found = append(found, journal.Entry{Address: e.Address, Action: e.Action, IDKey: "id", ID: id})
		}
		if open {
			unknown = append(unknown, e.Address)
		}
	}
	return found, unknown, nil
}

// one looks for one create. It returns the ID of the only object that can be the created one, after
// removing the object that it replaced from the state. open means that the outcome is still
// unknown.
func (s *search) one(ctx context.Context, e journal.Entry, begun bool) (id string, open bool, err error) {
	w, old := s.wishes[e.Address], s.recorded[e.Address]
	since := s.outcome.Began[e.Address]
	if since.IsZero() {
		since = e.Time
	}
	ids, undated, looked, err := findInClouds(ctx, s.clouds, w, since.Add(-clockSkew))
	if err != nil {
		return "", false, err
	}
	other := func(id string) bool { return s.known[w.kind+" "+id] }
	ids, undated = slices.DeleteFunc(ids, other), slices.DeleteFunc(undated, other)
	switch {
	case len(ids) > 1:
		s.Reportf("%s was to be created, and %d objects in the cloud match it: %s", e.Address, len(ids), strings.Join(ids, ", "))
		return "", true, nil
	case len(ids) == 0 && len(undated) > 0:
		s.Reportf("%s was to be created, and %s in the cloud matches it but may be older: the cloud does not report its age", e.Address, strings.Join(undated, ", "))
		return "", true, nil
	case len(ids) == 0 && !begun:
		return "", false, nil
	case len(ids) == 0 && looked && old != nil:
		s.Reportf("%s was in flight (create), and is in the state", e.Address)
		return "", false, nil
	case len(ids) == 0 && looked:
		s.Reportf("%s was in flight (create), but nothing in the cloud matches it: the next apply creates it", e.Address)
		return "", false, nil
	case len(ids) == 0:
		s.Reportf("%s was in flight (create): check whether it was created", e.Address)
		return "", true, nil
	}
	if old != nil {
		all, _, _, err := findInClouds(ctx, s.clouds, w, time.Time{})
		if err != nil {
			return "", false, err
		}
		if oldID := layer.Attribute(old, "id"); slices.Contains(all, oldID) {
			s.Reportf("%s was to be recreated, and the cloud has the old object (%s) and another (%s): delete one of them", e.Address, oldID, ids[0])
			return "", true, nil
		}
		if err := forget(ctx, s.Layer, e.Address); err != nil {
			return "", false, err
		}
	}
	if begun {
		s.Reportf("%s was in flight (create), and it exists in the cloud", e.Address)
	}
	return ids[0], false, nil
}

// canFind reports whether one of the clouds can be searched for resources of a type.
func canFind(kind string) bool { return openstack.CanFind(kind) || ovh.CanFind(kind) }

// findInClouds queries the cloud that a resource belongs to. looked is false if too little is known
// to search for it, or if we have no credentials to use: the code may give its provider others.
// Undated objects may be older than since.
func findInClouds(ctx context.Context, clouds *clouds.Clouds, w wish, since time.Time) (ids, undated []string, looked bool, err error) {
	switch {
	case openstack.CanFind(w.kind) && clouds.Need(openstack.Required, "servers") == nil:
		cloud, err := clouds.OpenStack(ctx)
		if err != nil {
			return nil, nil, false, err
		}
		ids, looked, err = cloud.Find(ctx, w.kind, w.values, since)
		return ids, nil, looked, err
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
