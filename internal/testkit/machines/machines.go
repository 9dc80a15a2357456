// Package machines starts simulated Talos machines for a test, and makes a cluster of them.
package machines

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/cluster"
	"slipway/internal/must"
	"slipway/internal/rollout"
	"slipway/internal/talos"
	"slipway/internal/talosapi"
	"slipway/internal/testkit/soon"
)

// A Cluster is one of simulated machines, with what Slipway needs to know of it.
type Cluster struct {
	T      *testing.T
	Sim    *sim.Cluster
	Spec   *cluster.Cluster
	Bundle *secrets.Bundle
	Access *talosapi.Access
}

// A Set is simulated machines without a configuration.
type Set struct {
	Sim       *sim.Cluster
	Addresses []string
}

// New starts so many control planes, called a, b and so on, and a worker, w. None has a configuration.
func New(t *testing.T, controls int, version string) *Cluster {
	t.Helper()
	contract, err := talos.Contract(version)
	must.Do(t, err)
	bundle, err := secrets.NewBundle(secrets.NewClock(), contract, secrets.WithECDSAServiceAccountKey())
	must.Do(t, err)
	access, err := talosapi.NewAccess(bundle)
	must.Do(t, err)
	s := Start(t, controls+1, version)
	addresses := s.Addresses
	spec := &cluster.Cluster{Name: "home", Talos: version, Kubernetes: "v1.34.1", Endpoint: "https://" + addresses[0] + ":6443", Pods: []string{"10.244.0.0/16"}, Services: []string{"10.96.0.0/12"}}
	for i, address := range addresses {
		n := cluster.Node{Name: string(rune('a' + i)), Address: address, Role: cluster.ControlPlane, Disk: "/dev/sda"}
		if i == controls {
			n.Name, n.Role = "w", cluster.Worker
		}
		spec.Nodes = append(spec.Nodes, n)
	}
	return &Cluster{t, s.Sim, spec, bundle, access}
}

// Node returns the description of a node.
func (c *Cluster) Node(name string) cluster.Node {
	return c.Spec.Nodes[slices.IndexFunc(c.Spec.Nodes, func(n cluster.Node) bool { return n.Name == name })]
}

// Machine returns the machine that is a node.
func (c *Cluster) Machine(name string) *sim.Node { return c.Sim.Node(c.Node(name).Address) }

// Observe asks a node.
func (c *Cluster) Observe(name string) talosapi.Observation {
	n := c.Node(name)
	return c.Access.Observe(c.T.Context(), n.Address, n.Role == cluster.ControlPlane)
}

// Configure gives each node its configuration, and waits until all have started with it.
func (c *Cluster) Configure() {
	c.T.Helper()
	for _, n := range c.Spec.Nodes {
		provider, err := talos.Render(c.Spec, n, c.Bundle)
		must.Do(c.T, err)
		data, err := provider.EncodeBytes()
		must.Do(c.T, err)
		connection, err := c.Access.Maintenance(c.T.Context(), n.Address, c.Machine(n.Name).Fingerprint())
		must.Do(c.T, err)
		_, err = connection.ApplyConfiguration(c.T.Context(), &machine.ApplyConfigurationRequest{Data: data, Mode: machine.ApplyConfigurationRequest_AUTO})
		must.Do(c.T, err)
		must.Do(c.T, connection.Close())
	}
	for _, n := range c.Spec.Nodes {
		soon.Wait(c.T, n.Name+" answers with its configuration", func() bool { return c.Observe(n.Name).API == rollout.Configured })
	}
}

// Bootstrap begins etcd on a node, and waits until it has.
func (c *Cluster) Bootstrap(name string) error {
	c.T.Helper()
	connection, err := c.Access.Trusted(c.T.Context(), c.Node(name).Address)
	must.Do(c.T, err)
	defer connection.Close()
	if err := connection.Bootstrap(c.T.Context(), &machine.BootstrapRequest{}); err != nil {
		return err
	}
	soon.Wait(c.T, "etcd begins on "+name, func() bool {
		seen := c.Access.Observe(c.T.Context(), c.Node(name).Address, true).Etcd
		return seen.Begun || seen.Known && !seen.Empty
	})
	return nil
}

// Start starts n machines without a configuration, with this version of Talos. Their addresses are of the
// loopback network, and no other test has them.
func Start(t *testing.T, n int, version string) Set {
	t.Helper()
	for block := range 200 * 250 {
		s := Set{Sim: sim.New()}
		for i := range n {
			address := fmt.Sprintf("127.%d.%d.%d", 20+block/250, 1+block%250, 11+i)
			_, err := s.Sim.Add(address, version)
			if errors.Is(err, syscall.EADDRINUSE) {
				break
			}
			must.Do(t, err)
			s.Addresses = append(s.Addresses, address)
		}
		if len(s.Addresses) == n {
			t.Cleanup(s.Sim.Close)
			return s
		}
		s.Sim.Close()
	}
	t.Fatal("every address is in use")
	return Set{}
}
