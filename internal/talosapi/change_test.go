package talosapi_test

import (
	"errors"
	"slices"
	"testing"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/must"
	"slipway/internal/talos"
	"slipway/internal/talosapi"
	"slipway/internal/testkit/machines"
)

// A machine says whether it would restart: up to Talos 1.13 for some changes.
func TestRestarts(t *testing.T) {
	for version, restarts := range map[string]bool{"v1.13.0": true, "v1.14.1": false} {
		c := machines.New(t, 1, version)
		c.Configure()
		wanted, err := talos.Render(c.Spec, c.Node("w"), c.Bundle, []byte("machine: {env: {A: b}}\n"))
		must.Do(t, err)
		says, err := c.Access.Restarts(t.Context(), c.Node("w").Address, wanted)
		must.Do(t, err)
		if says != restarts || c.Machine("w").Boots() != 1 {
			t.Errorf("%s: %t, and it has started %d times", version, says, c.Machine("w").Boots())
		}
	}
}

// What a machine says against a step is shown without a hidden value, and without the lines that can have the whole
// configuration.
func TestRefused(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	c.Configure()
	wanted, err := talos.Render(c.Spec, c.Node("w"), c.Bundle, []byte("machine: {env: {A: canary-of-a-patch}}\n"))
	must.Do(t, err)
	c.Machine("w").Set(sim.Faults{Rejects: "not with canary-of-a-patch\ncanary-of-a-diff"})
	address := c.Node("w").Address
	const masked, worker = "not with ***", "bootstrap is only available on control plane nodes"
	for i, c := range []struct {
		want string
		call func() error
	}{
		{masked, func() error { return c.Access.Change(t.Context(), address, wanted) }},
		{masked, func() error { _, err := c.Access.Restarts(t.Context(), address, wanted); return err }},
		{worker, func() error { _, err := c.Access.Bootstrap(t.Context(), address); return err }},
	} {
		err := c.call()
		if refused, ok := errors.AsType[*talosapi.RefusedError](err); !ok || refused.Why != c.want {
			t.Errorf("call %d: got %v, want %s", i+1, err, c.want)
		}
	}
}

func TestServices(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	c.Configure()
	names, err := c.Access.Services(t.Context(), c.Node("w").Address)
	must.Do(t, err)
	if !slices.Contains(names, "kubelet") || slices.Contains(names, "etcd") {
		t.Errorf("a worker has %q", names)
	}
}
