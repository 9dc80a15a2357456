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

// clockSkew is by how much the clock of a cloud may be behind ours: what it made
// shortly before the journal says that it was asked to may be what was asked for.
const clockSkew = 5 * time.Minute

// searchAll looks in the clouds for what creates have made that nobody saw the end of: of
// the type, the name and the place that the code says, not older than the run, and not
// in the state. Those that were planned may have begun just before the run was killed.
// It returns those of which there is exactly one, and the addresses of those of which
// nobody knows. It tells of all.
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

// A search is what is known while creates are looked for.
type search struct {
	*layer.Layer
	clouds     *clouds.Clouds
	outcome    journal.Outcome
	creates    []journal.Entry // that a cloud can be asked for
	begun      map[string]bool // addresses of those that were seen to begin
	unfindable []journal.Entry // of types that none can be asked for

	recorded map[string]*tfjson.StateResource // by address
	known    map[string]bool                  // type and id of what is in the state
	wishes   map[string]wish                  // by address
}

// newSearch tells what can be looked for, and what cannot, from what need not be.
func newSearch(l *layer.Layer, outcome journal.Outcome) *search {
	s := &search{Layer: l, clouds: clouds.Of(l.Run), outcome: outcome, begun: map[string]bool{}}
	for _, e := range outcome.InFlight {
		switch {
		case e.Action != "create":
			l.Reportf("%s was in flight (%s): the next plan says what is left to do", e.Address, e.Action)
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

// in says what is in the state.
func (s *search) in(recorded map[string]*tfjson.StateResource) {
	s.recorded, s.known = recorded, map[string]bool{}
	for _, resource := range recorded {
		s.known[resource.Type+" "+layer.Attribute(resource, "id")] = true
	}
}

// notFindable returns the addresses of what no cloud can be asked for and is not in the
// state.
func (s *search) notFindable() (unknown []string) {
	for _, e := range s.unfindable {
		// What is in the state is what was made, unless it is what that was to replace.
		if s.recorded[e.Address] != nil && !slices.Contains(s.outcome.Replaced, e.Address) {
			s.Reportf("%s was in flight (create), and is in the state", e.Address)
			continue
		}
		s.Reportf("%s was in flight (create): look whether it was made", e.Address)
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

// one looks for one create. It returns the id of the one object that can be what was made,
// and has the state forget what that took the place of; or it says that the question is
// open.
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
		s.Reportf("%s was to be made, and %d in the cloud could be it: %s", e.Address, len(ids), strings.Join(ids, ", "))
		return "", true, nil
	case len(ids) == 0 && len(undated) > 0:
		s.Reportf("%s was to be made, and %s in the cloud could be it or be older: the cloud does not tell its age", e.Address, strings.Join(undated, ", "))
		return "", true, nil
	case len(ids) == 0 && !begun:
		return "", false, nil
	case len(ids) == 0 && looked && old != nil:
		s.Reportf("%s was in flight (create), and is in the state", e.Address)
		return "", false, nil
	case len(ids) == 0 && looked:
		s.Reportf("%s was in flight (create), and the cloud has nothing that could be it: the next apply makes it", e.Address)
		return "", false, nil
	case len(ids) == 0:
		s.Reportf("%s was in flight (create): look whether it was made", e.Address)
		return "", true, nil
	}
	if old != nil {
		all, _, _, err := findInClouds(ctx, s.clouds, w, time.Time{})
		if err != nil {
			return "", false, err
		}
		if oldID := layer.Attribute(old, "id"); slices.Contains(all, oldID) {
			s.Reportf("%s was to be made anew, and the cloud has the old one (%s) and another (%s): delete one of them", e.Address, oldID, ids[0])
			return "", true, nil
		}
		if err := forget(ctx, s.Layer, e.Address); err != nil {
			return "", false, err
		}
	}
	if begun {
		s.Reportf("%s was in flight (create), and the cloud has it", e.Address)
	}
	return ids[0], false, nil
}

// canFind says whether one of the clouds can be asked for resources of a type.
func canFind(kind string) bool { return openstack.CanFind(kind) || ovh.CanFind(kind) }

// findInClouds asks the cloud that a resource belongs to. It has not looked where nothing is
// known of how to find it, and where the credentials are not for us to use: the code
// may give its provider others. Of those that are undated, nobody knows whether they
// were made since.
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

// Types of what an import does not make whole.
const (
	databaseUser  = "ovh_cloud_project_database_postgresql_user" // whose password only the answer to its creation told
	securityGroup = "openstack_networking_secgroup_v2"           // which may still have the rules that every new one has
)

// taintIncomplete marks what an import does not make whole, so that the next apply replaces it.
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
	return taint(ctx, l, notWhole(recorded, made, unseen))
}

// taint has the next apply make anew what is named, by address, with the reason.
func taint(ctx context.Context, l *layer.Layer, why map[string]string) error {
	for _, address := range slices.Sorted(maps.Keys(why)) {
		if err := l.Tofu(ctx, "taint", tofu.TaintArgs(address)...); err != nil {
			return err
		}
		l.Reportf("%s will be made anew: %s", address, why[address])
	}
	return nil
}

// notWhole says, by address, why what is in the state has to be made anew: a user without
// its password, and a security group of which nobody saw the create end.
func notWhole(recorded map[string]*tfjson.StateResource, made, unseen []journal.Entry) map[string]string {
	why := map[string]string{}
	for _, e := range slices.Concat(made, unseen) {
		if resource := recorded[e.Address]; resource != nil && resource.Type == databaseUser && layer.Attribute(resource, "password") == "" {
			why[e.Address] = "its password is not known"
		}
	}
	for _, e := range unseen {
		if resource := recorded[e.Address]; resource != nil && resource.Type == securityGroup && e.Action == "create" {
			why[e.Address] = "it may not be whole"
		}
	}
	return why
}
