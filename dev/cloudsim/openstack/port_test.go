package openstack_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// Ports get free addresses, or those that they ask for.
func TestPort(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	n := c.privateNetwork("private", "10.0.0.0/29")
	first := c.port(ports.CreateOpts{NetworkID: n.ID})
	if len(first.FixedIPs) != 1 || first.FixedIPs[0].IPAddress != "10.0.0.2" || first.Status != "DOWN" || len(first.SecurityGroups) != 1 || first.MACAddress == "" {
		t.Errorf("%+v", first)
	}
	asked := c.port(ports.CreateOpts{NetworkID: n.ID, FixedIPs: []ports.IP{{IPAddress: "10.0.0.3"}}, SecurityGroups: &[]string{}})
	if asked.FixedIPs[0].IPAddress != "10.0.0.3" || len(asked.SecurityGroups) != 0 {
		t.Errorf("%+v", asked)
	}
	none := c.port(ports.CreateOpts{NetworkID: n.ID, FixedIPs: []ports.IP{}})
	if len(none.FixedIPs) != 0 {
		t.Errorf("%+v", none)
	}
	for status, opts := range map[int]ports.CreateOpts{
		http.StatusConflict:   {NetworkID: n.ID, FixedIPs: []ports.IP{{IPAddress: "10.0.0.3"}}},
		http.StatusBadRequest: {NetworkID: n.ID, FixedIPs: []ports.IP{{IPAddress: "10.0.9.3"}}},
		http.StatusNotFound:   {NetworkID: "x"},
	} {
		_, err := ports.Create(t.Context(), c.network, opts).Extract()
		refused(t, err, status)
	}
	_, err := ports.Create(t.Context(), c.network, ports.CreateOpts{NetworkID: n.ID, SecurityGroups: &[]string{"x"}}).Extract()
	refused(t, err, http.StatusNotFound)
	_, err = ports.Create(t.Context(), c.network, ports.CreateOpts{NetworkID: n.ID, MACAddress: first.MACAddress}).Extract()
	refused(t, err, http.StatusConflict)
	for range 3 { // .4, .5 and .6
		c.port(ports.CreateOpts{NetworkID: n.ID})
	}
	_, err = ports.Create(t.Context(), c.network, ports.CreateOpts{NetworkID: n.ID}).Extract()
	refused(t, err, http.StatusConflict)

	g, name := c.group("web"), "renamed"
	p, err := ports.Update(t.Context(), c.network, first.ID, ports.UpdateOpts{
		Name: &name, SecurityGroups: &[]string{g.ID}, AllowedAddressPairs: &[]ports.AddressPair{{IPAddress: "10.0.0.0/29"}},
	}).Extract()
	if err != nil || p.Name != name || !slices.Equal(p.SecurityGroups, []string{g.ID}) || p.FixedIPs[0] != first.FixedIPs[0] || p.AllowedAddressPairs[0].MACAddress != p.MACAddress {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = ports.Update(t.Context(), c.network, first.ID, ports.UpdateOpts{FixedIPs: []ports.IP{{SubnetID: first.FixedIPs[0].SubnetID}}}).Extract(); err != nil || p.FixedIPs[0] != first.FixedIPs[0] {
		t.Errorf("%+v, %v", p, err)
	}
	for want, opts := range map[int]ports.ListOpts{
		6: {NetworkID: n.ID}, 1: {ID: first.ID}, 0: {Name: "x"},
	} {
		if all := c.ports(opts); len(all) != want {
			t.Errorf("%+v: %d", opts, len(all))
		}
	}
	if all := c.ports(ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{IPAddress: "10.0.0.3"}}}); len(all) != 1 || all[0].ID != asked.ID {
		t.Errorf("%+v", all)
	}
	if all := c.ports(ports.ListOpts{SecurityGroups: []string{g.ID}}); len(all) != 1 || all[0].ID != first.ID {
		t.Errorf("%+v", all)
	}
	refused(t, groups.Delete(t.Context(), c.network, g.ID).ExtractErr(), http.StatusConflict)
	must(t, 0, ports.Delete(t.Context(), c.network, first.ID).ExtractErr())
	c.dropGroup(g.ID)
	refused(t, ports.Get(t.Context(), c.network, first.ID).Err, http.StatusNotFound)
}
