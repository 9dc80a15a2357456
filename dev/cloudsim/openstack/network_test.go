package openstack_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"slipway/dev/cloudsim/openstack"
)

func (c *cloud) networks(opts networks.ListOptsBuilder) []networks.Network {
	c.t.Helper()
	pages, err := networks.List(c.network, opts).AllPages(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	all, err := networks.ExtractNetworks(pages)
	return must(c.t, all, err)
}

func (c *cloud) networkNamed(name string) networks.Network {
	c.t.Helper()
	all := c.networks(networks.ListOpts{Name: name, Status: "ACTIVE"})
	if len(all) != 1 {
		c.t.Fatalf("%d networks are called %s", len(all), name)
	}
	return all[0]
}

func (c *cloud) newNetwork(name string) *networks.Network {
	c.t.Helper()
	n, err := networks.Create(c.t.Context(), c.network, networks.CreateOpts{Name: name}).Extract()
	return must(c.t, n, err)
}

func (c *cloud) privateNetwork(name, cidr string) *networks.Network {
	c.t.Helper()
	n := c.newNetwork(name)
	_, err := subnets.Create(c.t.Context(), c.network, subnets.CreateOpts{NetworkID: n.ID, CIDR: cidr, IPVersion: 4}).Extract()
	return must(c.t, n, err)
}

func (c *cloud) port(opts ports.CreateOpts) *ports.Port {
	c.t.Helper()
	p, err := ports.Create(c.t.Context(), c.network, opts).Extract()
	return must(c.t, p, err)
}

func (c *cloud) ports(opts ports.ListOpts) []ports.Port {
	c.t.Helper()
	pages, err := ports.List(c.network, opts).AllPages(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	all, err := ports.ExtractPorts(pages)
	return must(c.t, all, err)
}

func (c *cloud) group(name string) *groups.SecGroup {
	c.t.Helper()
	g, err := groups.Create(c.t.Context(), c.network, groups.CreateOpts{Name: name}).Extract()
	return must(c.t, g, err)
}

func (c *cloud) dropGroup(id string) {
	c.t.Helper()
	must(c.t, 0, groups.Delete(c.t.Context(), c.network, id).ExtractErr())
}

// The public network is there, and nobody can change it.
func TestExtNet(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	yes := true
	all := c.networks(external.ListOptsExt{ListOptsBuilder: networks.ListOpts{}, External: &yes})
	if len(all) != 1 || all[0].Name != openstack.ExtNet || !all[0].Shared || len(all[0].Subnets) != 2 {
		t.Fatalf("%+v", all)
	}
	refused(t, networks.Delete(t.Context(), c.network, all[0].ID).ExtractErr(), http.StatusForbidden)
	refused(t, subnets.Delete(t.Context(), c.network, all[0].Subnets[0]).ExtractErr(), http.StatusForbidden)
	_, err := networks.Update(t.Context(), c.network, all[0].ID, networks.UpdateOpts{}).Extract()
	refused(t, err, http.StatusForbidden)
	_, err = subnets.Create(t.Context(), c.network, subnets.CreateOpts{NetworkID: all[0].ID, CIDR: "10.0.0.0/24", IPVersion: 4}).Extract()
	refused(t, err, http.StatusForbidden)
	_, err = networks.Create(t.Context(), c.network, networks.CreateOpts{Name: "shared", Shared: &yes}).Extract()
	refused(t, err, http.StatusForbidden)
}

// A network lives with its subnet, and cannot go before its ports.
func TestNetwork(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	n := c.newNetwork("private")
	if n.Status != "ACTIVE" || !n.AdminStateUp || n.Shared || n.CreatedAt.IsZero() {
		t.Errorf("%+v", n)
	}
	name, text := "renamed", "of the tests"
	n, err := networks.Update(t.Context(), c.network, n.ID, networks.UpdateOpts{Name: &name, Description: &text}).Extract()
	if err != nil || n.Name != name || n.Description != text || n.RevisionNumber != 2 {
		t.Fatalf("%+v, %v", n, err)
	}
	set, err := attributestags.ReplaceAll(t.Context(), c.network, "networks", n.ID, attributestags.ReplaceAllOpts{Tags: []string{"b", "a"}}).Extract()
	if err != nil || !slices.Equal(set, []string{"a", "b"}) {
		t.Errorf("%v, %v", set, err)
	}
	if kept, err := attributestags.List(t.Context(), c.network, "networks", n.ID).Extract(); err != nil || !slices.Equal(kept, set) {
		t.Errorf("%v, %v", kept, err)
	}
	for want, opts := range map[int]networks.ListOpts{1: {Tags: "a,b"}, 0: {Tags: "a,c"}, 2: {}} {
		if all := c.networks(opts); len(all) != want {
			t.Errorf("%+v: %d", opts, len(all))
		}
	}

	s, err := subnets.Create(t.Context(), c.network, subnets.CreateOpts{NetworkID: n.ID, CIDR: "10.0.0.0/29", IPVersion: 4, DNSNameservers: []string{"10.0.0.6"}}).Extract()
	if err != nil || s.GatewayIP != "10.0.0.1" || !s.EnableDHCP || len(s.AllocationPools) != 1 ||
		s.AllocationPools[0] != (subnets.AllocationPool{Start: "10.0.0.2", End: "10.0.0.6"}) {
		t.Fatalf("%+v, %v", s, err)
	}
	if n, err := networks.Get(t.Context(), c.network, n.ID).Extract(); err != nil || !slices.Equal(n.Subnets, []string{s.ID}) {
		t.Errorf("%+v, %v", n, err)
	}
	p := c.port(ports.CreateOpts{NetworkID: n.ID})
	refused(t, networks.Delete(t.Context(), c.network, n.ID).ExtractErr(), http.StatusConflict)
	refused(t, subnets.Delete(t.Context(), c.network, s.ID).ExtractErr(), http.StatusConflict)
	must(t, 0, ports.Delete(t.Context(), c.network, p.ID).ExtractErr())
	must(t, 0, networks.Delete(t.Context(), c.network, n.ID).ExtractErr())
	refused(t, networks.Get(t.Context(), c.network, n.ID).Err, http.StatusNotFound)
	refused(t, subnets.Get(t.Context(), c.network, s.ID).Err, http.StatusNotFound)
	refused(t, networks.Delete(t.Context(), c.network, n.ID).ExtractErr(), http.StatusNotFound)
}

// Subnets with and without a gateway, with pools, of both versions; and those that
// make no sense.
func TestSubnet(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	n := c.newNetwork("private")
	none, own, no := "", "10.2.0.100", false
	for _, one := range []struct {
		opts    subnets.CreateOpts
		gateway string
		pools   []subnets.AllocationPool
	}{
		{subnets.CreateOpts{CIDR: "10.1.0.0/24", IPVersion: 4, GatewayIP: &none}, "", []subnets.AllocationPool{{Start: "10.1.0.1", End: "10.1.0.254"}}},
		{subnets.CreateOpts{CIDR: "10.2.0.0/24", IPVersion: 4, GatewayIP: &own, EnableDHCP: &no}, own,
			[]subnets.AllocationPool{{Start: "10.2.0.1", End: "10.2.0.99"}, {Start: "10.2.0.101", End: "10.2.0.254"}}},
		{subnets.CreateOpts{CIDR: "10.3.0.0/24", IPVersion: 4, AllocationPools: []subnets.AllocationPool{{Start: "10.3.0.50", End: "10.3.0.60"}}}, "10.3.0.1",
			[]subnets.AllocationPool{{Start: "10.3.0.50", End: "10.3.0.60"}}},
		{subnets.CreateOpts{CIDR: "fd00::/64", IPVersion: 6}, "fd00::1", []subnets.AllocationPool{{Start: "fd00::2", End: "fd00::ffff:ffff:ffff:ffff"}}},
	} {
		one.opts.NetworkID = n.ID
		s, err := subnets.Create(t.Context(), c.network, one.opts).Extract()
		if err != nil || s.GatewayIP != one.gateway || !slices.Equal(s.AllocationPools, one.pools) || s.EnableDHCP == (one.opts.EnableDHCP != nil) {
			t.Errorf("%+v, %v", s, err)
		}
	}
	outside := "10.9.0.1"
	for name, opts := range map[string]subnets.CreateOpts{
		"overlaps":      {CIDR: "10.1.0.128/25", IPVersion: 4},
		"no prefix":     {CIDR: "10.7.0.0", IPVersion: 4},
		"other version": {CIDR: "10.7.0.0/24", IPVersion: 6},
		"gateway":       {CIDR: "10.7.0.0/24", IPVersion: 4, GatewayIP: &outside},
		"pool":          {CIDR: "10.7.0.0/24", IPVersion: 4, AllocationPools: []subnets.AllocationPool{{Start: "10.8.0.1", End: "10.8.0.2"}}},
		"backward pool": {CIDR: "10.7.0.0/24", IPVersion: 4, AllocationPools: []subnets.AllocationPool{{Start: "10.7.0.9", End: "10.7.0.2"}}},
	} {
		opts.NetworkID = n.ID
		if _, err := subnets.Create(t.Context(), c.network, opts).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	pages, err := subnets.List(c.network, subnets.ListOpts{NetworkID: n.ID, IPVersion: 4}).AllPages(t.Context())
	all, err2 := subnets.ExtractSubnets(must(t, pages, err))
	if err2 != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err2)
	}
	name, servers := "renamed", []string{"10.1.0.5"}
	s, err := subnets.Update(t.Context(), c.network, all[0].ID, subnets.UpdateOpts{Name: &name, DNSNameservers: &servers}).Extract()
	if err != nil || s.Name != name || !slices.Equal(s.DNSNameservers, servers) || s.CIDR != all[0].CIDR || s.GatewayIP != all[0].GatewayIP || !slices.Equal(s.AllocationPools, all[0].AllocationPools) {
		t.Errorf("%+v, %v", s, err)
	}
	must(t, 0, subnets.Delete(t.Context(), c.network, s.ID).ExtractErr())
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	pages, err := extensions.List(c.network).AllPages(t.Context())
	if all, err := extensions.ExtractExtensions(must(t, pages, err)); err != nil || len(all) < 5 {
		t.Errorf("%v, %v", all, err)
	}
	if one, err := extensions.Get(t.Context(), c.network, "router").Extract(); err != nil || one.Alias != "router" {
		t.Errorf("%v, %v", one, err)
	}
	refused(t, extensions.Get(t.Context(), c.network, "x").Err, http.StatusNotFound)
}

// All kinds of things have tags.
func TestTags(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	n := c.privateNetwork("private", "10.0.0.0/24")
	r, err := routers.Create(t.Context(), c.network, routers.CreateOpts{Name: "gateway"}).Extract()
	must(t, 0, err)
	f, err := floatingips.Create(t.Context(), c.network, floatingips.CreateOpts{FloatingNetworkID: extNet(c)[0].UUID}).Extract()
	must(t, 0, err)
	n, err = networks.Get(t.Context(), c.network, n.ID).Extract()
	must(t, 0, err)
	for kind, id := range map[string]string{
		"networks": n.ID, "subnets": n.Subnets[0], "ports": c.port(ports.CreateOpts{NetworkID: n.ID}).ID, "security-groups": c.group("web").ID,
		"routers": r.ID, "floatingips": f.ID,
	} {
		_, err := attributestags.ReplaceAll(t.Context(), c.network, kind, id, attributestags.ReplaceAllOpts{Tags: []string{"one"}}).Extract()
		must(t, 0, err)
		if kept, err := attributestags.List(t.Context(), c.network, kind, id).Extract(); err != nil || !slices.Equal(kept, []string{"one"}) {
			t.Errorf("%s: %v, %v", kind, kept, err)
		}
		_, err = attributestags.List(t.Context(), c.network, kind, "x").Extract()
		refused(t, err, http.StatusNotFound)
	}
	_, err = attributestags.List(t.Context(), c.network, "clouds", "x").Extract()
	refused(t, err, http.StatusNotFound)
}
