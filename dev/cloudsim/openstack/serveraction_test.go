package openstack_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/attachinterfaces"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/secgroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/tags"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"slipway/dev/cloudsim/openstack"
)

// A server is stopped and started, resized and rebuilt, and refuses what its state
// does not allow.
func TestServerActions(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	made, err := c.create(extNet(c))
	id := must(t, made, err).ID
	c.await(id, "ACTIVE")
	refused(t, servers.Start(t.Context(), c.compute, id).ExtractErr(), http.StatusConflict)
	must(t, 0, servers.Stop(t.Context(), c.compute, id).ExtractErr())
	if s := c.await(id, "SHUTOFF"); s.PowerState != servers.SHUTDOWN {
		t.Errorf("%+v", s)
	}
	if p := c.ports(ports.ListOpts{DeviceID: id}); len(p) != 1 || p[0].Status != "DOWN" {
		t.Errorf("%+v", p)
	}
	must(t, 0, servers.Start(t.Context(), c.compute, id).ExtractErr())
	c.await(id, "ACTIVE")
	must(t, 0, servers.Reboot(t.Context(), c.compute, id, servers.RebootOpts{Type: servers.SoftReboot}).ExtractErr())
	c.await(id, "ACTIVE")

	larger := servers.ResizeOpts{FlavorRef: c.flavor("b3-16")}
	must(t, 0, servers.Resize(t.Context(), c.compute, id, larger).ExtractErr())
	c.await(id, "VERIFY_RESIZE")
	must(t, 0, servers.RevertResize(t.Context(), c.compute, id).ExtractErr())
	if s := c.await(id, "ACTIVE"); s.Flavor["id"] != c.flavor("b3-8") {
		t.Errorf("%+v", s)
	}
	must(t, 0, servers.Resize(t.Context(), c.compute, id, larger).ExtractErr())
	c.await(id, "VERIFY_RESIZE")
	must(t, 0, servers.ConfirmResize(t.Context(), c.compute, id).ExtractErr())
	if s := c.await(id, "ACTIVE"); s.Flavor["id"] != larger.FlavorRef {
		t.Errorf("%+v", s)
	}
	refused(t, servers.Resize(t.Context(), c.compute, id, larger).ExtractErr(), http.StatusBadRequest)
	ubuntu := c.images(images.ListOpts{Name: "Ubuntu 24.04"})[0].ID
	_, err = servers.Rebuild(t.Context(), c.compute, id, servers.RebuildOpts{ImageRef: ubuntu}).Extract()
	if must(t, 0, err); c.await(id, "ACTIVE").Image["id"] != ubuntu {
		t.Error("it keeps its image")
	}
	must(t, 0, servers.ChangeAdminPassword(t.Context(), c.compute, id, "another").ExtractErr())
	must(t, 0, servers.Pause(t.Context(), c.compute, id).ExtractErr())
	c.await(id, "PAUSED")
	must(t, 0, servers.Unpause(t.Context(), c.compute, id).ExtractErr())
	c.await(id, "ACTIVE")
	must(t, 0, servers.Shelve(t.Context(), c.compute, id).ExtractErr())
	if s := c.await(id, "SHELVED_OFFLOADED"); s.PowerState != servers.SHUTDOWN || len(s.Addresses[openstack.ExtNet].([]any)) != 2 {
		t.Errorf("%+v", s)
	}
	refused(t, servers.Stop(t.Context(), c.compute, id).ExtractErr(), http.StatusConflict)
	must(t, 0, servers.Unshelve(t.Context(), c.compute, id, servers.UnshelveOpts{}).ExtractErr())
	c.await(id, "ACTIVE")
	refused(t, servers.Suspend(t.Context(), c.compute, id).ExtractErr(), http.StatusBadRequest)
	must(t, 0, servers.ForceDelete(t.Context(), c.compute, id).ExtractErr())
	c.gone(id)
}

// What a server is while something goes on, and that it takes no other action then.
func TestServerOnTheWay(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	made, err := c.create(extNet(c))
	old := must(t, made, err).ID
	c.await(old, "ACTIVE")
	c = c.reopen(forever)
	made, err = c.create(extNet(c))
	young := must(t, made, err).ID
	if s := c.get(young); s.Status != "BUILD" || s.VmState != "building" || s.TaskState != "spawning" || len(s.Addresses) != 0 || !s.LaunchedAt.IsZero() {
		t.Errorf("%+v", s)
	}
	refused(t, servers.Stop(t.Context(), c.compute, young).ExtractErr(), http.StatusConflict)
	must(t, 0, servers.Reboot(t.Context(), c.compute, old, servers.RebootOpts{Type: servers.SoftReboot}).ExtractErr())
	if s := c.get(old); s.Status != "REBOOT" || s.TaskState != "rebooting" {
		t.Errorf("%+v", s)
	}
	refused(t, servers.Stop(t.Context(), c.compute, old).ExtractErr(), http.StatusConflict)
	for range 2 {
		must(t, 0, servers.Delete(t.Context(), c.compute, old).ExtractErr())
	}
	if s := c.get(old); s.TaskState != "deleting" {
		t.Errorf("%+v", s)
	}
}

// The lists below a server.
func TestServerParts(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	c.group("web")
	private := c.privateNetwork("private", "10.0.0.0/24")
	made, err := c.create(extNet(c), func(o *servers.CreateOpts) { o.Metadata = map[string]string{"a": "1", "b": "2"} })
	id := must(t, made, err).ID
	c.await(id, "ACTIVE")

	_, err = servers.UpdateMetadata(t.Context(), c.compute, id, servers.MetadataOpts{"b": "3", "c": "4"}).Extract()
	must(t, 0, err)
	must(t, 0, servers.DeleteMetadatum(t.Context(), c.compute, id, "a").ExtractErr())
	refused(t, servers.DeleteMetadatum(t.Context(), c.compute, id, "a").ExtractErr(), http.StatusNotFound)
	if data, err := servers.Metadata(t.Context(), c.compute, id).Extract(); err != nil || len(data) != 2 || data["b"] != "3" || data["c"] != "4" {
		t.Errorf("%v, %v", data, err)
	}
	if data, err := servers.ResetMetadata(t.Context(), c.compute, id, servers.MetadataOpts{"d": "5"}).Extract(); err != nil || len(data) != 1 {
		t.Errorf("%v, %v", data, err)
	}

	_, err = tags.List(t.Context(), c.compute, id).Extract()
	refused(t, err, http.StatusNotFound) // of an old microversion
	c.compute.Microversion = "2.26"
	_, err = tags.ReplaceAll(t.Context(), c.compute, id, tags.ReplaceAllOpts{Tags: []string{"one", "two"}}).Extract()
	must(t, 0, err)
	if list, err := tags.List(t.Context(), c.compute, id).Extract(); err != nil || !slices.Equal(list, []string{"one", "two"}) || !slices.Equal(*c.get(id).Tags, list) {
		t.Errorf("%v, %v", list, err)
	}
	c.compute.Microversion = "2.47"
	if s := c.get(id); s.Flavor["original_name"] != "b3-8" {
		t.Errorf("%v", s.Flavor)
	}
	c.compute.Microversion = "2.999"
	refused(t, servers.Get(t.Context(), c.compute, id).Err, http.StatusNotAcceptable)
	c.compute.Microversion = ""

	must(t, 0, secgroups.AddServer(t.Context(), c.compute, id, "web").ExtractErr())
	must(t, 0, secgroups.RemoveServer(t.Context(), c.compute, id, "default").ExtractErr())
	refused(t, secgroups.RemoveServer(t.Context(), c.compute, id, "x").ExtractErr(), http.StatusNotFound)
	pages, err := secgroups.ListByServer(c.compute, id).AllPages(t.Context())
	if all, err := secgroups.ExtractSecurityGroups(must(t, pages, err)); err != nil || len(all) != 1 || all[0].Name != "web" {
		t.Errorf("%v, %v", all, err)
	}
	pages, err = volumeattach.List(c.compute, id).AllPages(t.Context())
	if all, err := volumeattach.ExtractVolumeAttachments(must(t, pages, err)); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}

	more, err := attachinterfaces.Create(t.Context(), c.compute, id, attachinterfaces.CreateOpts{
		NetworkID: private.ID, FixedIPs: []attachinterfaces.FixedIP{{IPAddress: "10.0.0.7"}}}).Extract()
	if err != nil || more.FixedIPs[0].IPAddress != "10.0.0.7" {
		t.Fatalf("%v, %v", more, err)
	}
	if one, err := attachinterfaces.Get(t.Context(), c.compute, id, more.PortID).Extract(); err != nil || one.MACAddr != more.MACAddr || one.PortState != "ACTIVE" {
		t.Errorf("%v, %v", one, err)
	}
	pages, err = attachinterfaces.List(c.compute, id).AllPages(t.Context())
	if all, err := attachinterfaces.ExtractInterfaces(must(t, pages, err)); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	must(t, 0, attachinterfaces.Delete(t.Context(), c.compute, id, more.PortID).ExtractErr())
	_, err = attachinterfaces.Get(t.Context(), c.compute, id, more.PortID).Extract()
	refused(t, err, http.StatusNotFound)
}

// Lists are filtered.
func TestServerLists(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	for _, name := range []string{"web-1", "web-2", "db-1"} {
		made, err := c.create(extNet(c), func(o *servers.CreateOpts) { o.Name = name })
		c.await(must(t, made, err).ID, "ACTIVE")
	}
	for _, one := range []struct {
		opts servers.ListOpts
		want int
	}{
		{servers.ListOpts{}, 3}, {servers.ListOpts{Name: "^web-"}, 2}, {servers.ListOpts{Name: "^web$"}, 0}, {servers.ListOpts{Status: "active"}, 3},
		{servers.ListOpts{Status: "ERROR"}, 0}, {servers.ListOpts{Flavor: c.flavor("b3-8")}, 3}, {servers.ListOpts{Flavor: c.flavor("d2-2")}, 0},
		{servers.ListOpts{IP: `203\.0\.113\.3$`}, 1}, {servers.ListOpts{Tags: "x"}, 0},
	} {
		pages, err := servers.List(c.compute, one.opts).AllPages(t.Context())
		if all, err := servers.ExtractServers(must(t, pages, err)); err != nil || len(all) != one.want {
			t.Errorf("%+v: %d, %v", one.opts, len(all), err)
		}
	}
	pages, err := servers.ListSimple(c.compute, nil).AllPages(t.Context())
	if all, err := servers.ExtractServers(must(t, pages, err)); err != nil || len(all) != 3 || all[0].Status != "" || all[0].Name == "" {
		t.Errorf("%+v, %v", all, err)
	}
	_, err = servers.List(c.compute, servers.ListOpts{Name: "("}).AllPages(t.Context())
	refused(t, err, http.StatusBadRequest)
}
