package stage

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/journal"
	"slipway/internal/openstack"
	"slipway/internal/ovh"
	"slipway/internal/tofu"
)

// clockSkew is by how much the clock of a cloud may be behind ours: what it made
// shortly before the journal says that it was asked to may be what was asked for.
const clockSkew = 5 * time.Minute

// search looks in the clouds for what creates have made that nobody saw the end of: of
// the type, the name and the place that the code says, not older than the run, and not
// in the state. Those that were planned may have begun just before the run was killed.
// It returns those of which there is exactly one, and tells of the others.
func (r *root) search(ctx context.Context, flights, planned []journal.Entry) (found []journal.Entry, err error) {
	begun := map[string]bool{}
	var creates []journal.Entry
	for _, e := range flights {
		switch {
		case e.Action != "create":
			r.reportf("%s was in flight (%s): the next plan says what is left to do", e.Address, e.Action)
		case ofKind(e.Address, canFind):
			begun[e.Address] = true
			creates = append(creates, e)
		default:
			r.reportf("%s was in flight (create): look whether it was made before the next apply makes it again", e.Address)
		}
	}
	for _, e := range planned {
		if ofKind(e.Address, canFind) {
			creates = append(creates, e)
		}
	}
	if len(creates) == 0 {
		return nil, nil
	}
	recorded, err := r.recorded(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{} // type and id of what is in the state
	for _, resource := range recorded {
		known[resource.Type+" "+attribute(resource, "id")] = true
	}
	wishes, err := r.wishes(ctx, creates)
	if err != nil {
		return nil, err
	}
	for _, e := range creates {
		one, err := r.searchOne(ctx, e, begun[e.Address], wishes[e.Address], recorded, known)
		if err != nil {
			return nil, err
		}
		if one != "" {
			found = append(found, journal.Entry{Address: e.Address, Action: e.Action, IDKey: "id", ID: one})
		}
	}
	return found, nil
}

// searchOne is search for one create. It returns the id of the one object that can be
// what was made, and has the state forget what that took the place of.
func (r *root) searchOne(ctx context.Context, e journal.Entry, begun bool, w wish, recorded map[string]*tfjson.StateResource, known map[string]bool) (id string, err error) {
	ids, looked, err := r.find(ctx, w, e.Time.Add(-clockSkew))
	if err != nil {
		return "", err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return known[w.kind+" "+id] })
	old := recorded[e.Address]
	switch {
	case len(ids) > 1:
		r.reportf("%s was to be made, and %d in the cloud could be it (%s): import one, or delete them, before the next apply makes another", e.Address, len(ids), strings.Join(ids, ", "))
		return "", nil
	case len(ids) == 0 && !begun:
		return "", nil
	case len(ids) == 0 && old != nil:
		r.reportf("%s was in flight (create), and is in the state", e.Address)
		return "", nil
	case len(ids) == 0 && looked:
		r.reportf("%s was in flight (create), and the cloud has nothing that could be it: the next apply makes it", e.Address)
		return "", nil
	case len(ids) == 0:
		r.reportf("%s was in flight (create): look whether it was made before the next apply makes it again", e.Address)
		return "", nil
	}
	if old != nil {
		all, _, err := r.find(ctx, w, time.Time{})
		if err != nil {
			return "", err
		}
		if oldID := attribute(old, "id"); slices.Contains(all, oldID) {
			r.reportf("%s was to be made anew, and the cloud has the old one (%s) and another (%s): delete one of them before the next apply", e.Address, oldID, ids[0])
			return "", nil
		}
		if code, err := r.tool.Run(ctx, &r.noise, tofu.StateRemoveArgs(e.Address)...); err != nil || code != tofu.ExitOK {
			return "", r.failed(ctx, "state rm", err)
		}
	}
	if begun {
		r.reportf("%s was in flight (create), and the cloud has it", e.Address)
	}
	return ids[0], nil
}

// canFind says whether one of the clouds can be asked for resources of a type.
func canFind(kind string) bool { return openstack.CanFind(kind) || ovh.CanFind(kind) }

// find asks the cloud that a resource belongs to. It has not looked where nothing is
// known of how to find it, and where the credentials are not for us to use: the code
// may give its provider others.
func (r *root) find(ctx context.Context, w wish, since time.Time) (ids []string, looked bool, err error) {
	switch {
	case openstack.CanFind(w.kind) && r.need(openstack.Required, "servers") == nil:
		cloud, err := r.cloud(ctx)
		if err != nil {
			return nil, false, err
		}
		return cloud.Find(ctx, w.kind, w.values, since)
	case ovh.CanFind(w.kind) && r.need(ovh.Required, "databases") == nil:
		account, err := r.ovh()
		if err != nil {
			return nil, false, err
		}
		return account.Find(ctx, w.kind, w.values, since)
	default:
		return nil, false, nil
	}
}

// makeAnew marks what an import does not make whole, so that the next apply replaces
// it: a user whose password only the answer to its creation told, and, of the creates
// that nobody saw the end of, a security group, which may still have the rules that
// every new one has.
func (r *root) makeAnew(ctx context.Context, made, unseen []journal.Entry) error {
	const user, group = "ovh_cloud_project_database_postgresql_user", "openstack_networking_secgroup_v2"
	if !slices.ContainsFunc(slices.Concat(made, unseen), func(e journal.Entry) bool {
		return ofKind(e.Address, func(kind string) bool { return kind == user || kind == group })
	}) {
		return nil
	}
	recorded, err := r.recorded(ctx)
	if err != nil {
		return err
	}
	why := map[string]string{}
	for _, e := range slices.Concat(made, unseen) {
		if resource := recorded[e.Address]; resource != nil && resource.Type == user && attribute(resource, "password") == "" {
			why[e.Address] = "its password is not known"
		}
	}
	for _, e := range unseen {
		if resource := recorded[e.Address]; resource != nil && resource.Type == group && e.Action == "create" {
			why[e.Address] = "it may not be whole"
		}
	}
	for _, address := range slices.Sorted(maps.Keys(why)) {
		code, err := r.tool.Run(ctx, &r.noise, tofu.TaintArgs(address)...)
		if err != nil || code != tofu.ExitOK {
			return r.failed(ctx, "taint", err)
		}
		r.reportf("%s will be made anew: %s", address, why[address])
	}
	return nil
}
