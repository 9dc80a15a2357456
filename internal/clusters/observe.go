package clusters

import (
	"context"
	"sync"

	"slipway/internal/cluster"
	"slipway/internal/rollout"
	"slipway/internal/talos"
	"slipway/internal/talosapi"
)

// A State is what the nodes of a cluster say of themselves. What could not be read has no entry.
type State struct {
	Nodes map[string]talosapi.Observation // by name

	// Changes are the differences between the configuration that a node has and the one that it is to have.
	Changes map[string][]talos.Change
}

// Observe asks all nodes at once, and compares their configurations with the wanted ones. It fails if ctx ends, and if
// a bastion can never be logged in to.
func (c *Cluster) Observe(ctx context.Context, access *talosapi.Access) (State, error) {
	s := State{Nodes: map[string]talosapi.Observation{}, Changes: map[string][]talos.Change{}}
	var lock sync.Mutex
	var all sync.WaitGroup
	for _, n := range c.Spec.Nodes {
		all.Go(func() {
			o := access.Observe(ctx, n.Address, n.Role == cluster.ControlPlane)
			lock.Lock()
			defer lock.Unlock()
			s.Nodes[n.Name] = o
		})
	}
	all.Wait()
	if err := c.Refused(); err != nil {
		return s, err
	}
	for _, n := range c.Spec.Nodes {
		o := s.Nodes[n.Name]
		if o.Config == nil {
			continue
		}
		wanted, err := c.settings(n)
		if err != nil {
			return s, err
		}
		has, err := talos.Settings(o.Config)
		if err != nil {
			continue // unknown
		}
		kept := talos.Keep(has, c.digestKey(), c.Mask.String)
		s.Changes[n.Name] = talos.Compare(kept, wanted, c.digestKey())
	}
	return s, ctx.Err()
}

// Situation is the state in the form in which the next step is decided.
func (c *Cluster) Situation(s State, taken []rollout.Step) rollout.Situation {
	situation := rollout.Situation{Taken: taken}
	for _, n := range c.Spec.Nodes {
		o := s.Nodes[n.Name]
		node := rollout.Node{Name: n.Name, Control: n.Role == cluster.ControlPlane, API: o.API, Boot: o.Boot, Busy: o.Busy, Owner: o.Owner, Etcd: o.Etcd}
		changes, known := s.Changes[n.Name]
		switch {
		case o.API == rollout.Maintenance || known && (len(changes) > 0 || o.Staged):
			node.Config = rollout.Differs
		case known:
			node.Config = rollout.Same
		}
		situation.Nodes = append(situation.Nodes, node)
	}
	return situation
}
