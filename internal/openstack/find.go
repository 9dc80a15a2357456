package openstack

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// finders list the objects that match the code, for each supported type of the openstack provider.
// Without the attributes in needs, no object can be told from others like it.
var finders = map[string]struct {
	find  func(ctx context.Context, c *Cloud, want attributes, since time.Time) (matches, error)
	needs []string
}{
	"openstack_compute_instance_v2":         {findServers, []string{"name"}},
	"openstack_compute_keypair_v2":          {findKeyPairs, []string{"name", "public_key"}},
	"openstack_networking_network_v2":       {findNetworks, []string{"name"}},
	"openstack_networking_subnet_v2":        {findSubnets, []string{"name", "network_id"}},
	"openstack_networking_port_v2":          {findPorts, []string{"name", "network_id"}},
	"openstack_networking_secgroup_v2":      {findGroups, []string{"name"}},
	"openstack_networking_secgroup_rule_v2": {findRules, []string{"security_group_id", "direction", "ethertype"}},
}

// CanFind reports whether Find supports the resource type.
func CanFind(kind string) bool { _, ok := finders[kind]; return ok }

// Find returns the IDs of the objects that an interrupted create may have left: objects of that
// resource type with the attribute values of the code, created since then. If a value is not known
// before the apply, such as the ID of a network in flight itself, each object that agrees in the
// others may be the one: certain is false, unless there is none.
func (c *Cloud) Find(ctx context.Context, kind string, values map[string]any, since time.Time) (ids []string, certain bool, err error) {
	f, ok := finders[kind]
	if !ok {
		return nil, false, nil
	}
	found, err := f.find(ctx, c, values, since)
	if err != nil {
		return nil, false, fmt.Errorf("look for %s: %w", kind, err)
	}
	for _, name := range f.needs {
		if attributes(values).text(name) == "" {
			found.possible, found.same = slices.Concat(found.possible, found.same), nil
		}
	}
	if len(found.same) > 0 || len(found.possible) == 0 {
		return sorted(found.same), true, nil
	}
	return sorted(found.possible), false, nil
}

func sorted(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// attributes are the values that the code gives a resource. Unknown values are missing.
type attributes map[string]any

func (a attributes) text(name string) string {
	switch value := a[name].(type) {
	case string:
		return value
	case float64:
		return number(int(value))
	}
	return ""
}

// number prints a number of which 0 means none.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// A pair is the name of an attribute and the value that an object has.
type pair struct{ name, value string }

// matches are the IDs of objects that have the wanted attributes.
type matches struct {
	same     []string
	possible []string // have a value for an attribute whose wanted value is not known
}

// add adds an object, if its attributes are the wanted ones.
func (m *matches) add(want attributes, id string, has ...pair) {
	possible := false
	for _, p := range has {
		_, known := want[p.name]
		switch {
		case !known && p.value != "":
			possible = true
		case p.value != want.text(p.name):
			return
		}
	}
	if possible {
		m.possible = append(m.possible, id)
	} else {
		m.same = append(m.same, id)
	}
}

func findServers(ctx context.Context, c *Cloud, want attributes, since time.Time) (m matches, err error) {
	pages, err := servers.List(c.nova, servers.ListOpts{}).AllPages(ctx)
	if err != nil {
		return m, err
	}
	list, err := servers.ExtractServers(pages)
	for _, s := range list {
		if !s.Created.Before(since) {
			m.add(want, s.ID, pair{"name", s.Name})
		}
	}
	return m, err
}

// findKeyPairs compares the key itself: not every cloud reports when a key pair was created, and a
// name is unique.
func findKeyPairs(ctx context.Context, c *Cloud, want attributes, _ time.Time) (m matches, err error) {
	pages, err := keypairs.List(c.nova, nil).AllPages(ctx)
	if err != nil {
		return m, err
	}
	list, err := keypairs.ExtractKeyPairs(pages)
	for _, k := range list {
		key := k.PublicKey
		if strings.TrimSpace(key) == strings.TrimSpace(want.text("public_key")) {
			key = want.text("public_key")
		}
		m.add(want, k.Name, pair{"name", k.Name}, pair{"public_key", key})
	}
	return m, err
}

func findNetworks(ctx context.Context, c *Cloud, want attributes, since time.Time) (m matches, err error) {
	pages, err := networks.List(c.neutron, networks.ListOpts{Name: want.text("name")}).AllPages(ctx)
	if err != nil {
		return m, err
	}
	list, err := networks.ExtractNetworks(pages)
	for _, n := range list {
		if !n.CreatedAt.Before(since) {
			m.add(want, n.ID, pair{"name", n.Name})
		}
	}
	return m, err
}

func findSubnets(ctx context.Context, c *Cloud, want attributes, since time.Time) (m matches, err error) {
	pages, err := subnets.List(c.neutron, subnets.ListOpts{NetworkID: want.text("network_id")}).AllPages(ctx)
	if err != nil {
		return m, err
	}
	list, err := subnets.ExtractSubnets(pages)
	for _, s := range list {
		has := []pair{{"name", s.Name}, {"network_id", s.NetworkID}}
		if want.text("cidr") != "" { // otherwise the cloud chooses it
			has = append(has, pair{"cidr", s.CIDR})
		}
		if !s.CreatedAt.Before(since) {
			m.add(want, s.ID, has...)
		}
	}
	return m, err
}

func findPorts(ctx context.Context, c *Cloud, want attributes, since time.Time) (m matches, err error) {
	pages, err := ports.List(c.neutron, ports.ListOpts{NetworkID: want.text("network_id")}).AllPages(ctx)
	if err != nil {
		return m, err
	}
	list, err := ports.ExtractPorts(pages)
	for _, p := range list {
		if !p.CreatedAt.Before(since) {
			m.add(want, p.ID, pair{"name", p.Name}, pair{"network_id", p.NetworkID})
		}
	}
	return m, err
}

func findGroups(ctx context.Context, c *Cloud, want attributes, since time.Time) (m matches, err error) {
	pages, err := groups.List(c.neutron, groups.ListOpts{Name: want.text("name")}).AllPages(ctx)
	if err != nil {
		return m, err
	}
	list, err := groups.ExtractGroups(pages)
	for _, g := range list {
		if !g.CreatedAt.Before(since) {
			m.add(want, g.ID, pair{"name", g.Name})
		}
	}
	return m, err
}

// findRules compares everything that defines a rule: a group cannot contain two identical rules.
func findRules(ctx context.Context, c *Cloud, want attributes, since time.Time) (m matches, err error) {
	pages, err := rules.List(c.neutron, rules.ListOpts{SecGroupID: want.text("security_group_id")}).AllPages(ctx)
	if err != nil {
		return m, err
	}
	list, err := rules.ExtractRules(pages)
	for _, r := range list {
		prefix := r.RemoteIPPrefix
		if strings.EqualFold(prefix, want.text("remote_ip_prefix")) {
			prefix = want.text("remote_ip_prefix")
		}
		if !r.CreatedAt.Before(since) {
			m.add(want, r.ID, pair{"security_group_id", r.SecGroupID}, pair{"direction", r.Direction}, pair{"ethertype", r.EtherType},
				pair{"protocol", r.Protocol}, pair{"port_range_min", number(r.PortRangeMin)}, pair{"port_range_max", number(r.PortRangeMax)},
				pair{"remote_ip_prefix", prefix}, pair{"remote_group_id", r.RemoteGroupID}, pair{"remote_address_group_id", r.RemoteAddressGroupID})
		}
	}
	return m, err
}
