package openstack_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"slipway/dev/cloudsim/openstack"
)

// fetch asks without a token.
func (c *cloud) fetch(path string) (status int, body string) {
	c.t.Helper()
	response, err := http.Get(c.url + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(must(c.t, data, err))
}

// A server finds out who it is, also while it boots.
func TestMetadata(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	must(t, 0, keypairs.Create(t.Context(), c.compute, keypairs.CreateOpts{Name: "operator", PublicKey: key}).Err)
	private := c.privateNetwork("private", "10.0.0.0/24")
	made, err := servers.Create(t.Context(), c.compute, keypairs.CreateOptsExt{CreateOptsBuilder: servers.CreateOpts{
		Name: "Web 1", ImageRef: c.images(images.ListOpts{})[0].ID, FlavorRef: c.flavor("d2-2"), UserData: []byte("#cloud-config\nname: ü\n"),
		Networks: append(extNet(c), servers.Network{UUID: private.ID}), Metadata: map[string]string{"role": "web"}}, KeyName: "operator"}, nil).Extract()
	base := "/-/openstack-metadata/" + must(t, made, err).ID + "/"
	must(t, 0, keypairs.Delete(t.Context(), c.compute, "operator", nil).ExtractErr()) // the server keeps its key

	for path, want := range map[string]string{
		"openstack/latest/user_data":                 "#cloud-config\nname: ü\n",
		"latest/user-data":                           "#cloud-config\nname: ü\n",
		"latest/meta-data/hostname":                  "web-1",
		"latest/meta-data/local-hostname":            "web-1",
		"latest/meta-data/instance-id":               made.ID,
		"latest/meta-data/public-ipv4":               "203.0.113.2",
		"latest/meta-data/local-ipv4":                "10.0.0.2",
		"latest/meta-data/public-keys/":              "0=operator",
		"latest/meta-data/public-keys/0/openssh-key": key,
	} {
		if status, body := c.fetch(base + path); status != http.StatusOK || body != want {
			t.Errorf("%s: %d, %q", path, status, body)
		}
	}
	var about struct {
		UUID, Name, Hostname string
		PublicKeys           map[string]string `json:"public_keys"`
		Meta                 map[string]string
	}
	_, body := c.fetch(base + "openstack/latest/meta_data.json")
	if err := json.Unmarshal([]byte(body), &about); err != nil || about.UUID != made.ID || about.Name != "Web 1" || about.Hostname != "web-1" || about.PublicKeys["operator"] != key || about.Meta["role"] != "web" {
		t.Errorf("%s, %v", body, err)
	}
	var network struct {
		Links    []struct{ ID, Type string }
		Networks []struct {
			Link, Type, Netmask string
			IP                  string `json:"ip_address"`
			Gateway             string
		}
	}
	_, body = c.fetch(base + "openstack/latest/network_data.json")
	if err := json.Unmarshal([]byte(body), &network); err != nil || len(network.Links) != 2 || len(network.Networks) != 3 ||
		network.Networks[0].IP != "203.0.113.2" || network.Networks[0].Gateway != "203.0.113.1" || network.Networks[1].Type != "ipv6" || network.Networks[2].Link != "tap1" {
		t.Errorf("%s, %v", body, err)
	}

	var list []openstack.Machine
	status, body := c.fetch(openstack.ServersPath)
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list) != 1 || list[0].ID != made.ID || list[0].Name != "Web 1" ||
		!slices.Equal(list[0].Addresses["private"], []string{"10.0.0.2"}) || len(list[0].Addresses[openstack.ExtNet]) != 2 {
		t.Errorf("%s, %v", body, err)
	}
	if status, _ := c.fetch("/-/openstack-metadata/x/openstack/latest/meta_data.json"); status != http.StatusNotFound {
		t.Errorf("of no server: %d", status)
	}
	other, err := c.create(extNet(c))
	if status, _ := c.fetch("/-/openstack-metadata/" + must(t, other, err).ID + "/openstack/latest/user_data"); status != http.StatusNotFound {
		t.Errorf("of a server without user data: %d", status)
	}
}

// What was going on when the cloud ended goes on when it is back: a server that
// boots, one that goes away, and the addresses of both.
func TestDurable(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	n := c.privateNetwork("private", "10.0.0.0/24")
	create := func() string {
		t.Helper()
		made, err := c.create([]servers.Network{{UUID: n.ID}})
		return must(t, made, err).ID
	}
	leaves := create()
	c.await(leaves, "ACTIVE")

	c = c.reopen(forever)
	slow := create()
	c = c.reopen(pace)
	boots := create()
	must(t, 0, servers.Delete(t.Context(), c.compute, leaves).ExtractErr())
	c = c.reopen(forever) // what began before keeps its own pace
	if s := c.get(slow); s.Status != "BUILD" {
		t.Errorf("%+v", s)
	}
	c.await(boots, "ACTIVE")
	c.gone(leaves)
	left := c.ports(ports.ListOpts{NetworkID: n.ID})
	slices.SortFunc(left, func(a, b ports.Port) int { return strings.Compare(a.FixedIPs[0].IPAddress, b.FixedIPs[0].IPAddress) })
	if len(left) != 2 || left[0].DeviceID != slow || left[0].FixedIPs[0].IPAddress != "10.0.0.3" || left[1].DeviceID != boots || left[1].FixedIPs[0].IPAddress != "10.0.0.4" {
		t.Errorf("%+v", left)
	}
	if all := c.networks(networks.ListOpts{}); len(all) != 2 {
		t.Errorf("%+v", all)
	}
}
