package clusters

import (
	"encoding/json"
	"slices"

	"slipway/internal/fault"
	"slipway/internal/rollout"
	"slipway/internal/talos"
)

// A Reviewed plan limits a rollout to what was planned.
type Reviewed struct {
	nodes map[string]sealedNode
	again string // command that makes another plan
}

// Review reads an encoded plan. again is the command that makes another one.
func (c *Cluster) Review(data []byte, again string) (*Reviewed, error) {
	var s sealed
	if json.Unmarshal(data, &s) != nil || s.Version != 1 {
		return nil, fault.Refuse(again, "the plan of the cluster is not of this version")
	}
	// A passphrase that was changed since then may still be the previous one.
	if c.key = c.keyCalled(s.Key); c.key == "" {
		return nil, fault.Refuse(again, "the plan of the cluster was made under another passphrase of the state")
	}
	return &Reviewed{s.Nodes, again}, nil
}

// refuse refuses to go on if a node is neither as it was when it was planned, nor as it is to be. A node that
// does not answer is left to the order of the rollout.
func (p *Reviewed) refuse(c *Cluster, s State) error {
	for _, n := range c.Spec.Nodes {
		planned, there := p.nodes[n.Name]
		changes, known := s.Changes[n.Name]
		maintenance := s.Nodes[n.Name].API == rollout.Maintenance
		switch {
		case !maintenance && !known:
		case !there:
			return fault.Refuse(p.again, "%s is not in the plan", n.Name)
		case maintenance && !planned.First:
			return fault.Refuse(p.again, "%s has no configuration, and had one when it was planned", n.Name)
		case len(changes) == 0:
		case planned.First:
			return fault.Refuse(p.again, "%s has a configuration, and had none when it was planned", n.Name)
		default:
			if err := p.refuseMoved(n.Name, planned, changes); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuseMoved refuses changes that are not in the plan: a setting has moved since then.
func (p *Reviewed) refuseMoved(name string, planned sealedNode, changes []talos.Change) error {
	for _, c := range changes {
		same := func(other talos.Change) bool {
			return other.Sign == c.Sign && other.Place.String() == c.Place.String() && other.Was == c.Was
		}
		if slices.ContainsFunc(planned.Changes, same) {
			continue
		}
		now := "is now " + c.Old
		switch {
		case c.Sign == "+":
			now = "is now missing"
		case c.Old == "":
			now = "now has another value"
		}
		return fault.Refuse(p.again, "%s has changed since it was planned: its %s %s", name, c.Place, now)
	}
	return nil
}

// refuseRestart refuses a restart that is not in the plan.
func (p *Reviewed) refuseRestart(step rollout.Step) error {
	if step.Restart && !p.nodes[step.Node].Restarts {
		return fault.Refuse(p.again, "%s says that it would restart, which is not in the plan", step.Node)
	}
	return nil
}
