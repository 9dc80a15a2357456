package talos_test

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/cluster"
	"slipway/internal/must"
	"slipway/internal/rollout"
	"slipway/internal/talos"
	"slipway/internal/testkit/machines"
	"slipway/internal/testkit/soon"
)

// A trial is a cluster of simulated machines.
type trial struct {
	*testing.T
	sim    *sim.Cluster
	spec   *cluster.Cluster
	bundle *secrets.Bundle
	access *talos.Access
}

// newTrial starts so many control planes and one worker, none of which has a configuration.
func newTrial(t *testing.T, controls int, version string) *trial {
	t.Helper()
	contract, err := talos.Contract(version)
	must.Do(t, err)
	bundle, err := secrets.NewBundle(secrets.NewClock(), contract, secrets.WithECDSAServiceAccountKey())
	must.Do(t, err)
	access, err := talos.NewAccess(bundle)
	must.Do(t, err)
	s, addresses := machines.Start(t, controls+1, version)
	spec := &cluster.Cluster{Name: "home", Talos: version, Kubernetes: "v1.34.1", Endpoint: "https://" + addresses[0] + ":6443", Pods: []string{"10.244.0.0/16"}, Services: []string{"10.96.0.0/12"}}
	for i, address := range addresses {
		n := cluster.Node{Name: string(rune('a' + i)), Address: address, Role: cluster.ControlPlane, Disk: "/dev/sda"}
		if i == controls {
			n.Name, n.Role = "w", cluster.Worker
		}
		spec.Nodes = append(spec.Nodes, n)
	}
	return &trial{t, s, spec, bundle, access}
}

func (t *trial) node(name string) cluster.Node {
	return t.spec.Nodes[slices.IndexFunc(t.spec.Nodes, func(n cluster.Node) bool { return n.Name == name })]
}

func (t *trial) machine(name string) *sim.Node { return t.sim.Node(t.node(name).Address) }

func (t *trial) observe(name string) talos.Observation {
	n := t.node(name)
	return t.access.Observe(t.Context(), n.Address, n.Role == cluster.ControlPlane)
}

// configure gives each machine its configuration.
func (t *trial) configure() {
	t.Helper()
	for _, n := range t.spec.Nodes {
		c, err := talos.Render(t.spec, n, t.bundle)
		must.Do(t.T, err)
		data, err := c.EncodeBytes()
		must.Do(t.T, err)
		o := t.observe(n.Name)
		connection, err := t.access.Maintenance(t.Context(), n.Address, o.Fingerprint)
		must.Do(t.T, err)
		_, err = connection.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: data, Mode: machine.ApplyConfigurationRequest_AUTO})
		must.Do(t.T, err)
		must.Do(t.T, connection.Close())
	}
	for _, n := range t.spec.Nodes {
		soon.Wait(t, n.Name+" answers with its configuration", func() bool { return t.observe(n.Name).API == rollout.Configured })
	}
}

func (t *trial) bootstrap(name string) error {
	t.Helper()
	c, err := t.access.Trusted(t.Context(), t.node(name).Address)
	must.Do(t.T, err)
	defer c.Close()
	return c.Bootstrap(t.Context(), &machine.BootstrapRequest{})
}

// A machine says itself what it is: without a configuration, of this cluster, of another, or nothing.
func TestObserve(t *testing.T) {
	for _, version := range []string{"v1.12.4", "v1.13.0", "v1.14.1"} {
		t.Run(version, func(t *testing.T) {
			c := newTrial(t, 3, version)
			o := c.observe("a")
			if o.API != rollout.Maintenance || o.Stage != "maintenance" || o.Fingerprint != c.machine("a").Fingerprint() || o.Config != nil || o.Etcd.Known || o.Why != "" {
				t.Errorf("without a configuration: %+v", o)
			}
			c.configure()
			o = c.observe("a")
			if o.API != rollout.Configured || o.Version != version || o.Stage != "running" || o.Busy || o.Boot == "" || o.Config == nil || o.Staged || o.Why != "" || o.Expires.Before(time.Now()) {
				t.Errorf("with one: %+v", o)
			}
			if !o.Etcd.Known || !o.Etcd.Empty {
				t.Errorf("etcd has not begun: %+v", o.Etcd)
			}
			if i := slices.IndexFunc(o.Services, func(s talos.Service) bool { return s.Name == "etcd" }); i < 0 || o.Services[i].State != "Preparing" || o.Services[i].Known {
				t.Errorf("services: %+v", o.Services)
			}
			if w := c.observe("w"); w.API != rollout.Configured || w.Etcd.Known {
				t.Errorf("a worker: %+v", w)
			}
			must.Do(t, c.bootstrap("b"))
			o = c.observe("a")
			if !o.Etcd.Known || o.Etcd.Empty || len(o.Etcd.Members) != 3 || o.Etcd.Leader == 0 || o.Etcd.Self == 0 || o.Etcd.Self == o.Etcd.Leader || len(o.Etcd.Alarms) > 0 {
				t.Errorf("etcd has begun on b: %+v", o.Etcd)
			}
			before := o.Boot
			must.Do(t, c.machine("a").Reboot())
			if after := c.observe("a").Boot; after == before {
				t.Errorf("after a restart its boot is still %s", after)
			}
		})
	}
}

// What is read of a configuration is what was given.
func TestObserveConfig(t *testing.T) {
	c := newTrial(t, 1, "v1.14.1")
	c.configure()
	for _, name := range []string{"a", "w"} {
		wanted, err := talos.Render(c.spec, c.node(name), c.bundle)
		must.Do(t, err)
		a, err := talos.Settings(wanted)
		must.Do(t, err)
		b, err := talos.Settings(c.observe(name).Config)
		must.Do(t, err)
		if changes := talos.Diff(b, a); len(changes) > 0 {
			t.Errorf("%s: %v", name, changes)
		}
	}
}

// Each fault is told from others. What cannot be read is unknown.
func TestObserveFaults(t *testing.T) {
	c := newTrial(t, 3, "v1.14.1")
	c.configure()
	must.Do(t, c.bootstrap("a"))
	healthy := func(v rollout.View) bool { return v.Known && !v.Empty && len(v.Members) == 3 && v.Leader != 0 }
	for name, f := range map[string]struct {
		faults sim.Faults
		right  func(talos.Observation) bool
	}{
		"silent":      {sim.Faults{Silent: true}, func(o talos.Observation) bool { return o.API == rollout.Silent && o.Why != "" && !o.Etcd.Known }},
		"a mute etcd": {sim.Faults{Mute: true}, func(o talos.Observation) bool { return o.API == rollout.Configured && !o.Etcd.Known && !o.Etcd.Empty }},
		"no leader":   {sim.Faults{NoLeader: true}, func(o talos.Observation) bool { return o.API == rollout.Configured && !o.Etcd.Known }},
		"an alarm": {sim.Faults{Alarm: "NOSPACE"}, func(o talos.Observation) bool {
			return healthy(o.Etcd) && slices.Equal(o.Etcd.Alarms, []string{"NOSPACE"})
		}},
		"nothing at all": {sim.Faults{}, func(o talos.Observation) bool { return healthy(o.Etcd) && len(o.Etcd.Alarms) == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			c.machine("b").Set(f.faults)
			if o := c.observe("b"); !f.right(o) {
				t.Errorf("got %+v", o)
			}
			c.machine("b").Set(sim.Faults{})
			if o := c.observe("b"); !healthy(o.Etcd) {
				t.Errorf("when it is over: %+v", o)
			}
		})
	}
	other := newTrial(t, 1, "v1.14.1")
	if o := other.access.Observe(t.Context(), c.node("a").Address, true); o.API != rollout.Stranger || o.Config != nil || o.Etcd.Known || o.Why == "" {
		t.Errorf("a machine of another cluster: %+v", o)
	}
}

// A machine that is given a configuration has the very certificate that was seen.
func TestMaintenanceFingerprint(t *testing.T) {
	c := newTrial(t, 1, "v1.14.1")
	connection, err := c.access.Maintenance(t.Context(), c.node("a").Address, talos.Fingerprint(&x509.Certificate{Raw: []byte("another")}))
	must.Do(t, err)
	defer connection.Close()
	if _, err := connection.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: []byte("x")}); err == nil {
		t.Error("a machine with another certificate was given a configuration")
	}
	if c.machine("a").Config() != nil {
		t.Error("it has a configuration")
	}
}
