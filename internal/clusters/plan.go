package clusters

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slipway/internal/cluster"
	"slipway/internal/fault"
	"slipway/internal/plan"
	"slipway/internal/rollout"
	"slipway/internal/sealedplan"
	"slipway/internal/talos"
)

// A Plan is what an apply would do to the nodes of a cluster.
type Plan struct {
	Nodes  []NodePlan
	Source string   // with what it compared
	Left   []string // a sentence for each node that is left alone
	Silent []string // a sentence for each node on record that could not be asked

	key string // of the digests
}

// A NodePlan is what an apply would do to one node.
type NodePlan struct {
	cluster.Node
	First    bool // it has no configuration yet
	Restarts bool // it restarts because of the changes
	Changes  []talos.Change
}

// Plan compares the wanted configurations with those that the nodes have. It asks the nodes if this run has the
// secrets of the machines. Otherwise, and for a node that does not answer, it compares with the record of the
// last apply.
func (c *Cluster) Plan(ctx context.Context) (*Plan, error) {
	last, unreadable := c.readRecord(ctx)
	s, err := c.ask(ctx)
	if err != nil {
		return nil, err
	}
	if unreadable != nil && slices.ContainsFunc(c.Spec.Nodes, func(n cluster.Node) bool { return !s.knows(n) }) {
		return nil, unreadable
	}
	return c.planFrom(last, s)
}

// planFrom makes a plan from the answers of the nodes, and from the record for nodes without an answer.
func (c *Cluster) planFrom(last record, s State) (*Plan, error) {
	p := &Plan{key: c.digestKey()}
	var unasked []string
	for _, n := range c.Spec.Nodes {
		node := NodePlan{Node: n}
		was, there := last.Nodes[n.Name]
		switch {
		case s.knows(n):
			node.First = s.Nodes[n.Name].API == rollout.Maintenance
			node.Changes = s.Changes[n.Name]
			node.Restarts = talos.Restarts(s.Nodes[n.Name].Version, node.Changes)
		case there:
			wanted, err := c.settings(n)
			if err != nil {
				return nil, err
			}
			node.Changes = talos.Compare(was.Settings, wanted, p.key)
			node.Restarts = talos.Restarts(was.Talos, node.Changes)
			unasked = append(unasked, n.Name)
			if c.Secrets != nil {
				p.Silent = append(p.Silent, fmt.Sprintf("%s could not be asked (%s): it may differ from the record of the last apply", n.Name, cmp.Or(s.Nodes[n.Name].Why, "it cannot be reached yet")))
			}
		default:
			if _, err := c.Config(n); err != nil {
				return nil, err
			}
			node.First = true
			unasked = append(unasked, n.Name)
		}
		p.Nodes = append(p.Nodes, node)
	}
	p.Source, p.Left = source(last, unasked, c.Secrets != nil), left(c.Spec, last)
	return p, nil
}

// Part returns the cluster in the form in which its plan is sealed and found.
func (c *Cluster) Part() *sealedplan.Cluster {
	return &sealedplan.Cluster{Run: c.Run, FromLayers: !c.Listed}
}

// ask asks the nodes, if this run can: a bastion may not exist yet, and credentials for plans do not log in to it.
func (c *Cluster) ask(ctx context.Context) (s State, err error) {
	if c.Secrets == nil {
		return State{}, nil
	}
	access, err := c.Access(ctx)
	if refusal, ok := fault.Refusal(err); ok {
		c.Say("note: the nodes are not asked: %v", refusal)
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	err = c.Timed("ask the nodes", func() error {
		s, err = c.Observe(ctx, access)
		return err
	})
	return s, err
}

// knows reports whether the node has said how it is configured.
func (s State) knows(n cluster.Node) bool {
	_, known := s.Changes[n.Name]
	return known || s.Nodes[n.Name].API == rollout.Maintenance
}

// source says with what a plan compared, and which nodes did not answer, if it tried.
func source(last record, unasked []string, tried bool) (text string) {
	if len(unasked) == 0 {
		return "compared with the nodes themselves"
	}
	if tried {
		text = strings.Join(unasked, ", ") + " could not be asked: "
	}
	if last.Run == "" {
		return text + "no apply is on record"
	}
	return text + fmt.Sprintf("compared with the record of run %s, %s", last.Run, last.Ended.UTC().Format(time.DateTime+" MST"))
}

// left names the nodes that are on record and are no longer described.
func left(spec *cluster.Cluster, last record) (sentences []string) {
	for _, name := range slices.Sorted(maps.Keys(last.Nodes)) {
		if !slices.ContainsFunc(spec.Nodes, func(n cluster.Node) bool { return n.Name == name }) {
			sentences = append(sentences, name+" is no longer in cluster.yaml, and keeps its configuration")
		}
	}
	return sentences
}

// Summary returns the plan in the form in which plans are shown.
func (p *Plan) Summary() (s plan.Summary) {
	for _, n := range p.Nodes {
		if n.First {
			s.Changes = append(s.Changes, plan.Change{Address: n.Name, Action: plan.Create, Values: []plan.Value{
				{Path: "role", New: string(n.Role)}, {Path: "address", New: n.Address}, {Path: "disk", New: n.Disk},
			}})
		}
	}
	for _, n := range p.Nodes {
		if !n.First && len(n.Changes) > 0 {
			s.Changes = append(s.Changes, n.summary())
		}
	}
	return s
}

func (n NodePlan) summary() plan.Change {
	c := plan.Change{Address: n.Name, Action: plan.Update, Restarts: n.Restarts}
	for _, change := range n.Changes {
		v := plan.Value{Path: change.Place.String()}
		switch {
		case change.Sign == "~" && change.New != "":
			v.Old, v.New = change.Old, change.New
		case change.New != "":
			v.Added = []string{change.New}
		case change.Old != "":
			v.Removed = []string{change.Old}
		default:
			c.Attributes = append(c.Attributes, v.Path) // a hidden value
			continue
		}
		if !slices.Contains(c.Attributes, v.Attribute()) {
			c.Attributes = append(c.Attributes, v.Attribute())
		}
		c.Values = append(c.Values, v)
	}
	return c
}

// A sealed plan is what an apply needs of a plan.
type sealed struct {
	Version int                   `json:"version"` // 1
	Key     string                `json:"key"`     // identifies the key of the digests
	Nodes   map[string]sealedNode `json:"nodes"`   // by name
}

type sealedNode struct {
	First    bool           `json:"first,omitempty"`
	Restarts bool           `json:"restarts,omitempty"`
	Changes  []talos.Change `json:"changes,omitempty"`
}

// Encode returns the plan in the form that Reviewed reads.
func (p *Plan) Encode() ([]byte, error) {
	s := sealed{Version: 1, Key: identity(p.key), Nodes: map[string]sealedNode{}}
	for _, n := range p.Nodes {
		s.Nodes[n.Name] = sealedNode{n.First, n.Restarts, n.Changes}
	}
	return json.Marshal(s)
}
