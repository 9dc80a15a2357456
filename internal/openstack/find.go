package openstack

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// finders look for an existing object that matches the code, for each supported type of the
// openstack provider. They need the values of some attributes. An object created before since is a
// different one.
var finders = map[string]struct {
	find  func(ctx context.Context, c *Cloud, want attributes, since time.Time) ([]string, error)
	needs []string
}{
	"openstack_compute_instance_v2":         {findServers, []string{"name"}},
	"openstack_compute_keypair_v2":          {findKeyPair, []string{"name", "public_key"}},
	"openstack_networking_network_v2":       {findNetworks, []string{"name"}},
	"openstack_networking_subnet_v2":        {findSubnets, []string{"name", "network_id"}},
	"openstack_networking_port_v2":          {findPorts, []string{"name", "network_id"}},
	"openstack_networking_secgroup_v2":      {findGroups, []string{"name"}},
	"openstack_networking_secgroup_rule_v2": {findRules, []string{"security_group_id", "direction", "ethertype"}},
}

// CanFind reports whether Find supports the resource type.
func CanFind(kind string) bool { _, ok := finders[kind]; return ok }

// Find returns the IDs of the objects that an interrupted create may have left: objects of that
// resource type with the attribute values of the code, created since then. looked is false if an
// attribute needed to identify the object is not known.
func (c *Cloud) Find(ctx context.Context, kind string, values map[string]any, since time.Time) (ids []string, looked bool, err error) {
	f, ok := finders[kind]
	if !ok {
		return nil, false, nil
	}
	for _, name := range f.needs {
		if attributes(values).text(name) == "" {
			return nil, false, nil
		}
	}
	ids, err = f.find(ctx, c, values, since)
	if err != nil {
		return nil, false, fmt.Errorf("look for %s: %w", kind, err)
	}
	return ids, true, nil
}

// attributes are the values that the code gives a resource. Unknown values are missing.
type attributes map[string]any

func (a attributes) text(name string) string {
	text, _ := a[name].(string)
	return text
}

func (a attributes) number(name string) int {
	number, _ := a[name].(float64)
	return int(number)
}

func findServers(ctx context.Context, c *Cloud, want attributes, since time.Time) ([]string, error) {
	pages, err := servers.List(c.nova, servers.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	list, err := servers.ExtractServers(pages)
	return pick(list, func(s servers.Server) (string, bool) {
		return s.ID, s.Name == want.text("name") && !s.Created.Before(since)
	}), err
}

// findKeyPair compares the key itself: not every cloud reports when a key pair was created, and a
// name is unique.
func findKeyPair(ctx context.Context, c *Cloud, want attributes, _ time.Time) ([]string, error) {
	pair, err := keypairs.Get(ctx, c.nova, want.text("name"), nil).Extract()
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case strings.TrimSpace(pair.PublicKey) != strings.TrimSpace(want.text("public_key")):
		return nil, nil
	}
	return []string{pair.Name}, nil
}

func findNetworks(ctx context.Context, c *Cloud, want attributes, since time.Time) ([]string, error) {
	pages, err := networks.List(c.neutron, networks.ListOpts{Name: want.text("name")}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	list, err := networks.ExtractNetworks(pages)
	return pick(list, func(n networks.Network) (string, bool) {
		return n.ID, n.Name == want.text("name") && !n.CreatedAt.Before(since)
	}), err
}

func findSubnets(ctx context.Context, c *Cloud, want attributes, since time.Time) ([]string, error) {
	pages, err := subnets.List(c.neutron, subnets.ListOpts{NetworkID: want.text("network_id")}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	list, err := subnets.ExtractSubnets(pages)
	return pick(list, func(s subnets.Subnet) (string, bool) {
		return s.ID, s.Name == want.text("name") && s.NetworkID == want.text("network_id") &&
			(want.text("cidr") == "" || s.CIDR == want.text("cidr")) && !s.CreatedAt.Before(since)
	}), err
}

func findPorts(ctx context.Context, c *Cloud, want attributes, since time.Time) ([]string, error) {
	pages, err := ports.List(c.neutron, ports.ListOpts{NetworkID: want.text("network_id")}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	list, err := ports.ExtractPorts(pages)
	return pick(list, func(p ports.Port) (string, bool) {
		return p.ID, p.Name == want.text("name") && p.NetworkID == want.text("network_id") && !p.CreatedAt.Before(since)
	}), err
}

func findGroups(ctx context.Context, c *Cloud, want attributes, since time.Time) ([]string, error) {
	pages, err := groups.List(c.neutron, groups.ListOpts{Name: want.text("name")}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	list, err := groups.ExtractGroups(pages)
	return pick(list, func(g groups.SecGroup) (string, bool) {
		return g.ID, g.Name == want.text("name") && !g.CreatedAt.Before(since)
	}), err
}

// findRules compares everything that defines a rule: a group cannot contain two identical rules.
func findRules(ctx context.Context, c *Cloud, want attributes, since time.Time) ([]string, error) {
	pages, err := rules.List(c.neutron, rules.ListOpts{SecGroupID: want.text("security_group_id")}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	list, err := rules.ExtractRules(pages)
	return pick(list, func(r rules.SecGroupRule) (string, bool) {
		return r.ID, r.SecGroupID == want.text("security_group_id") &&
			r.Direction == want.text("direction") && r.EtherType == want.text("ethertype") && r.Protocol == want.text("protocol") &&
			r.PortRangeMin == want.number("port_range_min") && r.PortRangeMax == want.number("port_range_max") &&
			strings.EqualFold(r.RemoteIPPrefix, want.text("remote_ip_prefix")) && r.RemoteGroupID == want.text("remote_group_id") &&
			r.RemoteAddressGroupID == want.text("remote_address_group_id") && !r.CreatedAt.Before(since)
	}), err
}

// pick returns the IDs of the wanted objects, in list order.
func pick[T any](list []T, wanted func(T) (id string, ok bool)) []string {
	var ids []string
	for _, one := range list {
		if id, ok := wanted(one); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
