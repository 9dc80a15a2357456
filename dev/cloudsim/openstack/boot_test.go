package openstack_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"slipway/dev/cloudsim/openstack"
)

// only returns the only server as a machine sees it.
func (c *cloud) only() openstack.Machine {
	c.t.Helper()
	list, err := c.sim.Machines()
	if err != nil || len(list) != 1 {
		c.t.Fatalf("%d servers, %v", len(list), err)
	}
	return list[0]
}

// Each reboot and each start counts, whatever a machine has seen of the statuses in between.
func TestBoots(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	made, err := c.create(extNet(c))
	id := must(t, made, err).ID
	c.await(id, "ACTIVE")
	expect := func(want int) {
		t.Helper()
		c.await(id, "ACTIVE")
		if got := c.only().Boots; got != want {
			t.Errorf("%d boots, want %d", got, want)
		}
	}
	expect(0)
	must(t, 0, servers.Reboot(t.Context(), c.compute, id, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr())
	expect(1)
	must(t, 0, servers.Reboot(t.Context(), c.compute, id, servers.RebootOpts{Type: servers.SoftReboot}).ExtractErr())
	expect(2)
	must(t, 0, servers.Stop(t.Context(), c.compute, id).ExtractErr())
	c.await(id, "SHUTOFF")
	must(t, 0, servers.Start(t.Context(), c.compute, id).ExtractErr())
	expect(3)
}

// A server that switched itself off is off until the API starts it.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	made, err := c.create(extNet(c))
	id := must(t, made, err).ID
	c.await(id, "ACTIVE")
	must(t, 0, c.sim.SwitchedOff("another"))
	if s := c.await(id, "ACTIVE"); s.Status != "ACTIVE" {
		t.Errorf("another one switches it off: %s", s.Status)
	}
	must(t, 0, c.sim.SwitchedOff(id))
	c.await(id, "SHUTOFF")
	must(t, 0, c.sim.SwitchedOff(id))
	must(t, 0, servers.Start(t.Context(), c.compute, id).ExtractErr())
	c.await(id, "ACTIVE")
	must(t, 0, servers.Shelve(t.Context(), c.compute, id).ExtractErr())
	c.await(id, "SHELVED_OFFLOADED")
	must(t, 0, c.sim.SwitchedOff(id))
	c.await(id, "SHELVED_OFFLOADED")
}

// A machine's server is known by its addresses in each network, and by its public one.
func TestMachineNetworks(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	made, err := c.create(extNet(c))
	id := must(t, made, err).ID
	c.await(id, "ACTIVE")
	m := c.only()
	if m.Public == "" || len(m.Networks) != 1 || len(m.Addresses[openstack.ExtNet]) != 2 {
		t.Errorf("%+v", m)
	}
	for _, addresses := range m.Networks {
		if len(addresses) != 2 || addresses[0] != m.Public && addresses[1] != m.Public {
			t.Errorf("%+v", m)
		}
	}
}
