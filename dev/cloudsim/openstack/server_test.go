package openstack_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"slipway/dev/cloudsim/openstack"
	"slipway/internal/testkit/soon"
)

func (c *cloud) flavor(name string) string {
	c.t.Helper()
	pages, err := flavors.ListDetail(c.compute, nil).AllPages(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	all, err := flavors.ExtractFlavors(pages)
	i := slices.IndexFunc(all, func(f flavors.Flavor) bool { return f.Name == name })
	if err != nil || i < 0 {
		c.t.Fatalf("no flavor is called %s: %v", name, err)
	}
	return all[i].ID
}

func (c *cloud) images(opts images.ListOpts) []images.Image {
	c.t.Helper()
	pages, err := images.List(c.image, opts).AllPages(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	all, err := images.ExtractImages(pages)
	return must(c.t, all, err)
}

// create asks for a server of size b3-8 with these networks and further wishes.
func (c *cloud) create(networks any, change ...func(*servers.CreateOpts)) (*servers.Server, error) {
	opts := servers.CreateOpts{
		Name: "web-1", ImageRef: c.images(images.ListOpts{Name: "Debian 13"})[0].ID, FlavorRef: c.flavor("b3-8"), Networks: networks,
	}
	for _, f := range change {
		f(&opts)
	}
	return servers.Create(c.t.Context(), c.compute, keypairs.CreateOptsExt{CreateOptsBuilder: opts}, nil).Extract()
}

func (c *cloud) get(id string) *servers.Server {
	c.t.Helper()
	s, err := servers.Get(c.t.Context(), c.compute, id).Extract()
	return must(c.t, s, err)
}

// await waits until the server has that status.
func (c *cloud) await(id, status string) *servers.Server {
	c.t.Helper()
	var s *servers.Server
	soon.Wait(c.t, "the server is "+status, func() bool {
		s = c.get(id)
		return s.Status == status && s.TaskState == ""
	})
	return s
}

// gone waits until the server no longer exists.
func (c *cloud) gone(id string) {
	c.t.Helper()
	var err error
	soon.Wait(c.t, "the server is gone", func() bool {
		_, err = servers.Get(c.t.Context(), c.compute, id).Extract()
		return err != nil
	})
	refused(c.t, err, http.StatusNotFound)
}

func extNet(c *cloud) []servers.Network {
	return []servers.Network{{UUID: c.networkNamed(openstack.ExtNet).ID}}
}

// A server comes up on a port of its own and on one that was there before, shows
// both, and leaves the latter behind.
func TestServer(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	must(t, 0, keypairs.Create(t.Context(), c.compute, keypairs.CreateOpts{Name: "operator", PublicKey: key}).Err)
	web, inside := c.group("web"), c.group("inside")
	private := c.privateNetwork("private", "10.0.0.0/24")
	prepared := c.port(ports.CreateOpts{NetworkID: private.ID, SecurityGroups: &[]string{inside.ID}})

	opts := servers.CreateOpts{
		Name: "web-1", ImageRef: c.images(images.ListOpts{Name: "Debian 13"})[0].ID, FlavorRef: c.flavor("b3-8"),
		Networks:       append(extNet(c), servers.Network{Port: prepared.ID}),
		SecurityGroups: []string{"web"}, Metadata: map[string]string{"role": "web"}, UserData: []byte("#cloud-config\n"),
	}
	made, err := servers.Create(t.Context(), c.compute, keypairs.CreateOptsExt{CreateOptsBuilder: opts, KeyName: "operator"}, nil).Extract()
	if err != nil || made.AdminPass == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	s := c.await(made.ID, "ACTIVE")
	if s.Name != "web-1" || s.KeyName != "operator" || s.Flavor["id"] != c.flavor("b3-8") || s.Image["id"] != opts.ImageRef ||
		s.PowerState != servers.RUNNING || s.VmState != "active" || s.LaunchedAt.IsZero() || s.Created.IsZero() || s.AvailabilityZone != "nova" ||
		s.Metadata["role"] != "web" || len(s.SecurityGroups) != 2 || s.SecurityGroups[0]["name"] != "web" || s.SecurityGroups[1]["name"] != "inside" {
		t.Errorf("%+v", s)
	}
	pages, err := servers.ListAddresses(c.compute, s.ID).AllPages(t.Context())
	addresses, err2 := servers.ExtractAddresses(must(t, pages, err))
	if err2 != nil || len(addresses[openstack.ExtNet]) != 2 || addresses[openstack.ExtNet][0].Address != "203.0.113.2" ||
		addresses[openstack.ExtNet][1].Version != 6 || addresses["private"][0].Address != prepared.FixedIPs[0].IPAddress {
		t.Errorf("%v, %v", addresses, err2)
	}
	refused(t, ports.Delete(t.Context(), c.network, "no-such-port").Err, http.StatusNotFound)
	_, err = c.create([]servers.Network{{Port: prepared.ID}})
	refused(t, err, http.StatusConflict)

	_, err = servers.Update(t.Context(), c.compute, s.ID, servers.UpdateOpts{Name: "web-2"}).Extract()
	if must(t, 0, err); c.get(s.ID).Name != "web-2" {
		t.Error("it keeps its name")
	}
	must(t, 0, servers.Delete(t.Context(), c.compute, s.ID).ExtractErr())
	c.gone(s.ID)
	refused(t, servers.Delete(t.Context(), c.compute, s.ID).ExtractErr(), http.StatusNotFound)
	left := c.ports(ports.ListOpts{})
	if len(left) != 1 || left[0].ID != prepared.ID || left[0].DeviceID != "" || left[0].Status != "DOWN" {
		t.Errorf("its ports: %+v", left)
	}
	must(t, 0, ports.Delete(t.Context(), c.network, prepared.ID).ExtractErr())
	c.dropGroup(web.ID)
	c.dropGroup(inside.ID)
}

// What Nova refuses at once.
func TestServerRefused(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	empty := c.newNetwork("empty")
	for name, change := range map[string]func(*servers.CreateOpts){
		"no name":         func(o *servers.CreateOpts) { o.Name = " " },
		"no such image":   func(o *servers.CreateOpts) { o.ImageRef = "x" },
		"no such flavor":  func(o *servers.CreateOpts) { o.FlavorRef = "x" },
		"no such group":   func(o *servers.CreateOpts) { o.SecurityGroups = []string{"x"} },
		"no such network": func(o *servers.CreateOpts) { o.Networks = []servers.Network{{UUID: "x"}} },
		"no such port":    func(o *servers.CreateOpts) { o.Networks = []servers.Network{{Port: "x"}} },
		"no subnet":       func(o *servers.CreateOpts) { o.Networks = []servers.Network{{UUID: empty.ID}} },
		"too much data":   func(o *servers.CreateOpts) { o.UserData = []byte(strings.Repeat("x ", 30000)) },
		"no such zone":    func(o *servers.CreateOpts) { o.AvailabilityZone = "x" },
		"an address from there": func(o *servers.CreateOpts) {
			o.Networks = []servers.Network{{UUID: extNet(c)[0].UUID, FixedIP: "10.1.1.1"}}
		},
		"a volume": func(o *servers.CreateOpts) {
			o.BlockDevice = []servers.BlockDevice{{SourceType: "image", DestinationType: "volume", UUID: o.ImageRef, VolumeSize: 1}}
		},
	} {
		if _, err := c.create(extNet(c), change); err == nil || !strings.Contains(err.Error(), "got 400") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := servers.Create(t.Context(), c.compute, keypairs.CreateOptsExt{CreateOptsBuilder: servers.CreateOpts{
		Name: "web", ImageRef: c.images(images.ListOpts{})[0].ID, FlavorRef: c.flavor("d2-2"), Networks: "none"}, KeyName: "nobody"}, nil).Extract()
	refused(t, err, http.StatusBadRequest)
	_, err = c.create("auto")
	refused(t, err, http.StatusBadRequest) // needs a later microversion than gophercloud asks for by itself
	_, err = c.create(nil)
	refused(t, err, http.StatusConflict) // two networks are possible
	c.group("twice")
	c.group("twice")
	_, err = c.create(extNet(c), func(o *servers.CreateOpts) { o.SecurityGroups = []string{"twice"} })
	refused(t, err, http.StatusConflict)
	if left := c.ports(ports.ListOpts{}); len(left) != 0 {
		t.Errorf("ports remain: %v", left)
	}
}
