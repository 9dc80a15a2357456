package openstack_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"slipway/dev/cloudsim/openstack"
)

// A router leads from a private network to the public one, and a floating address
// to a server in it. Neither goes while it is used.
func TestRouter(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	public := c.networkNamed(openstack.ExtNet)
	n := c.privateNetwork("private", "10.0.0.0/24")
	pages, err := subnets.List(c.network, subnets.ListOpts{NetworkID: n.ID}).AllPages(t.Context())
	parts, err2 := subnets.ExtractSubnets(must(t, pages, err))
	inside := must(t, parts, err2)[0].ID
	p := c.port(ports.CreateOpts{NetworkID: n.ID})
	refuse := func(opts floatingips.CreateOpts, status int) {
		t.Helper()
		_, err := floatingips.Create(t.Context(), c.network, opts).Extract()
		refused(t, err, status)
	}
	refuse(floatingips.CreateOpts{FloatingNetworkID: public.ID, PortID: p.ID}, http.StatusNotFound) // nothing leads there
	refuse(floatingips.CreateOpts{FloatingNetworkID: n.ID}, http.StatusBadRequest)

	r, err := routers.Create(t.Context(), c.network, routers.CreateOpts{Name: "gateway", GatewayInfo: &routers.GatewayInfo{NetworkID: public.ID}}).Extract()
	if err != nil || r.Status != "ACTIVE" || len(r.GatewayInfo.ExternalFixedIPs) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	joint, err := routers.AddInterface(t.Context(), c.network, r.ID, routers.AddInterfaceOpts{SubnetID: inside}).Extract()
	if err != nil || joint.SubnetID != inside {
		t.Fatalf("%+v, %v", joint, err)
	}
	refused(t, routers.Delete(t.Context(), c.network, r.ID).ExtractErr(), http.StatusConflict)
	refused(t, ports.Delete(t.Context(), c.network, joint.PortID).ExtractErr(), http.StatusConflict)

	f, err := floatingips.Create(t.Context(), c.network, floatingips.CreateOpts{FloatingNetworkID: public.ID, PortID: p.ID}).Extract()
	if err != nil || f.Status != "ACTIVE" || f.FixedIP != p.FixedIPs[0].IPAddress || f.RouterID != r.ID || f.FloatingIP == "" {
		t.Fatalf("%+v, %v", f, err)
	}
	refuse(floatingips.CreateOpts{FloatingNetworkID: public.ID, PortID: p.ID}, http.StatusConflict)
	made, err := c.create([]servers.Network{{Port: p.ID}})
	if s := c.await(must(t, made, err).ID, "ACTIVE"); len(s.Addresses["private"].([]any)) != 2 {
		t.Errorf("%+v", s.Addresses)
	}
	c.remove(made.ID)
	none := ""
	if f, err = floatingips.Update(t.Context(), c.network, f.ID, floatingips.UpdateOpts{PortID: &none}).Extract(); err != nil || f.Status != "DOWN" || f.PortID != "" {
		t.Errorf("%+v, %v", f, err)
	}
	pages, err = floatingips.List(c.network, floatingips.ListOpts{FloatingIP: f.FloatingIP}).AllPages(t.Context())
	if all, err := floatingips.ExtractFloatingIPs(must(t, pages, err)); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	f, err = floatingips.Update(t.Context(), c.network, f.ID, floatingips.UpdateOpts{PortID: &p.ID}).Extract()
	if err != nil || f.PortID != p.ID {
		t.Errorf("%+v, %v", f, err)
	}
	must(t, 0, ports.Delete(t.Context(), c.network, p.ID).ExtractErr()) // and the floating address stays
	if f, err = floatingips.Get(t.Context(), c.network, f.ID).Extract(); err != nil || f.PortID != "" || f.Status != "DOWN" {
		t.Errorf("%+v, %v", f, err)
	}
	must(t, 0, floatingips.Delete(t.Context(), c.network, f.ID).ExtractErr())
	refused(t, floatingips.Get(t.Context(), c.network, f.ID).Err, http.StatusNotFound)

	_, err = routers.RemoveInterface(t.Context(), c.network, r.ID, routers.RemoveInterfaceOpts{SubnetID: inside}).Extract()
	must(t, 0, err)
	other := c.port(ports.CreateOpts{NetworkID: n.ID})
	_, err = routers.AddInterface(t.Context(), c.network, r.ID, routers.AddInterfaceOpts{PortID: other.ID}).Extract()
	must(t, 0, err)
	_, err = routers.AddInterface(t.Context(), c.network, r.ID, routers.AddInterfaceOpts{PortID: other.ID}).Extract()
	refused(t, err, http.StatusConflict)
	_, err = routers.RemoveInterface(t.Context(), c.network, r.ID, routers.RemoveInterfaceOpts{PortID: other.ID}).Extract()
	must(t, 0, err)
	_, err = routers.RemoveInterface(t.Context(), c.network, r.ID, routers.RemoveInterfaceOpts{PortID: other.ID}).Extract()
	refused(t, err, http.StatusNotFound)
	if r, err = routers.Update(t.Context(), c.network, r.ID, routers.UpdateOpts{Name: "renamed", GatewayInfo: &routers.GatewayInfo{}}).Extract(); err != nil || r.Name != "renamed" || r.GatewayInfo.NetworkID != "" {
		t.Errorf("%+v, %v", r, err)
	}
	pages, err = routers.List(c.network, routers.ListOpts{Name: "renamed"}).AllPages(t.Context())
	if all, err := routers.ExtractRouters(must(t, pages, err)); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	must(t, 0, routers.Delete(t.Context(), c.network, r.ID).ExtractErr())
	refused(t, routers.Get(t.Context(), c.network, r.ID).Err, http.StatusNotFound)
	must(t, 0, networks.Delete(t.Context(), c.network, n.ID).ExtractErr())
}

// remove deletes a server and waits.
func (c *cloud) remove(id string) {
	c.t.Helper()
	must(c.t, 0, servers.Delete(c.t.Context(), c.compute, id).ExtractErr())
	c.gone(id)
}
