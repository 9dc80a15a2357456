package clusters

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/cluster"
	"slipway/internal/drift"
	"slipway/internal/environment"
	"slipway/internal/rollout"
	"slipway/internal/talos"
	"slipway/internal/talosapi"
)

// matching is a cluster of two control planes and a worker in which nothing differs.
func matching() *judgement {
	j := &judgement{
		spec:  &cluster.Cluster{Name: "home", Talos: "v1.14.1"},
		plan:  &Plan{Source: "compared with the record of run one"},
		said:  State{Nodes: map[string]talosapi.Observation{}, Changes: map[string][]talos.Change{}},
		last:  record{Run: "one", Nodes: map[string]recorded{}},
		asked: true,
	}
	members := []rollout.Member{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}}
	for i, name := range []string{"a", "b", "w"} {
		n := cluster.Node{Name: name, Address: "10.0.0.1" + string(rune('0'+i)), Role: cluster.ControlPlane}
		o := talosapi.Observation{API: rollout.Configured, Version: "v1.14.1", Etcd: rollout.View{Known: true, Self: uint64(i + 1), Leader: 1, Members: members}}
		if name == "w" {
			n.Role, o.Etcd = cluster.Worker, rollout.View{}
		}
		j.spec.Nodes = append(j.spec.Nodes, n)
		j.plan.Nodes = append(j.plan.Nodes, NodePlan{Node: n})
		j.said.Nodes[name], j.said.Changes[name] = o, nil
		j.last.Nodes[name] = recorded{Talos: "v1.14.1", Settings: []talos.Kept{{Place: sysctl, Value: "10", Digest: "digest of 10"}}}
	}
	return j
}

var sysctl = talos.Place{Path: []string{"machine", "sysctls", "vm.swappiness"}}

// says changes the answer of a node.
func (j *judgement) says(name string, change func(*talosapi.Observation)) {
	o := j.said.Nodes[name]
	change(&o)
	j.said.Nodes[name] = o
	if o.API != rollout.Configured {
		delete(j.said.Changes, name)
	}
}

// silent lets nodes say nothing.
func (j *judgement) silent(names ...string) {
	for _, name := range names {
		j.says(name, func(o *talosapi.Observation) {
			*o = talosapi.Observation{API: rollout.Silent, Why: "it cannot be reached"}
		})
	}
}

// new lets nodes wait for their first configuration.
func (j *judgement) new(names ...string) {
	for _, name := range names {
		j.says(name, func(o *talosapi.Observation) { *o = talosapi.Observation{API: rollout.Maintenance} })
	}
}

// unasked is the same for a run that has no secrets of the machines.
func (j *judgement) unasked() {
	j.asked, j.said = false, State{}
}

// unrecorded takes nodes from the record.
func (j *judgement) unrecorded(names ...string) {
	for _, name := range names {
		delete(j.last.Nodes, name)
	}
	if len(j.last.Nodes) == 0 {
		j.last = record{}
	}
}

// swaps has a node differ in one setting, which is now, and is to be another.
func (j *judgement) swaps(name, now, wanted string) {
	j.at(name).Changes = []talos.Change{{Sign: "~", Place: sysctl, Old: now, New: wanted, Was: "digest of " + now}}
}

func (j *judgement) at(name string) *NodePlan {
	return &j.plan.Nodes[slices.IndexFunc(j.plan.Nodes, func(n NodePlan) bool { return n.Name == name })]
}

func TestJudge(t *testing.T) {
	ignore := func(attributes ...string) []environment.Ignore {
		return []environment.Ignore{{Address: "a", Attributes: attributes}}
	}
	const setting = "machine.sysctls.vm.swappiness"
	for name, c := range map[string]struct {
		change  func(*judgement)
		lines   string
		unknown string
	}{
		"nothing":             {change: func(*judgement) {}},
		"changed on the node": {change: func(j *judgement) { j.swaps("a", "25", "10") }, lines: "! cluster.yaml: a was changed (machine.sysctls.vm.swappiness: 10 → 25) on the node"},
		"changed in the file": {change: func(j *judgement) { j.swaps("a", "10", "20") }, lines: "~ cluster.yaml: a is not applied yet: update (machine.sysctls.vm.swappiness: 10 → 20)"},
		"changed in both":     {change: func(j *judgement) { j.swaps("a", "25", "20") }, lines: "! cluster.yaml: a was changed (machine.sysctls.vm.swappiness: 10 → 25) on the node"},
		"a node that is not on record differs": {
			change: func(j *judgement) { j.unrecorded("a"); j.swaps("a", "25", "10") },
			lines:  "? cluster.yaml: a differs (machine.sysctls.vm.swappiness: 25 → 10), and no record says who changed it",
		},
		"no record at all": {
			change: func(j *judgement) { j.unrecorded("a", "b", "w"); j.swaps("w", "25", "10") },
			lines:  "? cluster.yaml: w differs (machine.sysctls.vm.swappiness: 25 → 10), and no record says who changed it",
		},
		"a record that cannot be read is not a cluster that was never applied": {
			change: func(j *judgement) {
				j.unrecorded("a", "b", "w")
				j.unreadable = errors.New("it is damaged")
				j.silent("a", "b", "w")
			},
			lines:   "  cluster.yaml: the record of the last apply cannot be used: it is damaged",
			unknown: "a (it cannot be reached), b (it cannot be reached), w (it cannot be reached)",
		},

		// The version of Talos.
		"another Talos by hand": {
			change: func(j *judgement) { j.says("w", func(o *talosapi.Observation) { o.Version = "v1.14.2-beta.0" }) },
			lines:  "! cluster.yaml: w was changed (talos: v1.14.1 → v1.14.2-beta.0) on the node",
		},
		"another Talos in the file": {
			change: func(j *judgement) { j.spec.Talos = "v1.14.2"; j.unrecorded("w") },
			lines: "~ cluster.yaml: a is not applied yet: update (talos: v1.14.1 → v1.14.2)\n~ cluster.yaml: b is not applied yet: update (talos: v1.14.1 → v1.14.2)\n" +
				"? cluster.yaml: w differs (talos: v1.14.1 → v1.14.2), and no record says who changed it",
		},
		"a version that no Talos has": {
			change: func(j *judgement) { j.says("w", func(o *talosapi.Observation) { o.Version = "v1.14.1 canary" }) },
			lines:  "! cluster.yaml: w was changed (talos) on the node",
		},
		"no version": {
			change:  func(j *judgement) { j.says("w", func(o *talosapi.Observation) { o.Version = "" }) },
			unknown: "w (its configuration could not be read)",
		},
		"a configuration that waits for a restart": {
			change: func(j *judgement) { j.says("a", func(o *talosapi.Observation) { o.Staged = true }) },
			lines:  "! cluster.yaml: a was changed (configuration of the next start) on the node",
		},

		// Nodes without a configuration.
		"a new node":                           {change: func(j *judgement) { j.unrecorded("w"); j.new("w") }, lines: "~ cluster.yaml: w is not applied yet: create"},
		"a new node that is not there yet":     {change: func(j *judgement) { j.unrecorded("w"); j.silent("w") }, lines: "~ cluster.yaml: w is not applied yet: create"},
		"a node that was reset":                {change: func(j *judgement) { j.new("w") }, lines: "! cluster.yaml: w has lost its configuration"},
		"a cluster that was never applied":     {change: func(j *judgement) { j.unrecorded("a", "b", "w"); j.new("a", "b"); j.silent("w") }, lines: "~ cluster.yaml: a is not applied yet: create\n~ cluster.yaml: b is not applied yet: create\n~ cluster.yaml: w is not applied yet: create"},
		"a cluster that somebody else made":    {change: func(j *judgement) { j.unrecorded("a", "b", "w"); j.silent("w") }, unknown: "w (it cannot be reached)"},
		"machines of which one is of another":  {change: func(j *judgement) { j.unrecorded("a", "b", "w"); j.new("a"); j.silent("b"); j.stranger("w") }, lines: "! cluster.yaml: another machine is at 10.0.0.12, the address of w: it is not a Talos machine\n~ cluster.yaml: a is not applied yet: create", unknown: "b (it cannot be reached)"},
		"a node is silent":                     {change: func(j *judgement) { j.silent("w"); j.swaps("a", "25", "10") }, lines: "! cluster.yaml: a was changed (machine.sysctls.vm.swappiness: 10 → 25) on the node", unknown: "w (it cannot be reached)"},
		"a silent node, and a change of files": {change: func(j *judgement) { j.silent("w"); j.swaps("w", "10", "20") }, lines: "~ cluster.yaml: w is not applied yet: update (machine.sysctls.vm.swappiness: 10 → 20)", unknown: "w (it cannot be reached)"},
		"one of a node that is not on record":  {change: func(j *judgement) { j.unrecorded("w"); delete(j.said.Changes, "w") }, unknown: "w (its configuration could not be read)"},
		"a configuration that cannot be read":  {change: func(j *judgement) { delete(j.said.Changes, "a") }, unknown: "a (its configuration could not be read)"},
		"an etcd that does not answer":         {change: func(j *judgement) { j.says("b", func(o *talosapi.Observation) { o.Etcd = rollout.View{Begun: true} }) }, unknown: "b (its etcd did not answer)"},
		"an etcd that has not begun": {change: func(j *judgement) {
			j.says("b", func(o *talosapi.Observation) { o.Etcd = rollout.View{Known: true, Empty: true} })
		}},
		"a machine of another cluster":       {change: func(j *judgement) { j.stranger("b") }, lines: "! cluster.yaml: another machine is at 10.0.0.11, the address of b: it is not a Talos machine"},
		"a member of etcd that is not in it": {change: func(j *judgement) { j.member("old-1") }, lines: "! cluster.yaml: etcd has the member old-1, which is not a control plane in cluster.yaml"},
		"a member of etcd that is a worker":  {change: func(j *judgement) { j.member("w") }, lines: "! cluster.yaml: etcd has the member w, which is not a control plane in cluster.yaml"},
		"a member of etcd with an odd name":  {change: func(j *judgement) { j.member("a canary") }, lines: "! cluster.yaml: etcd has the member 0000000000000009, which is not a control plane in cluster.yaml"},
		"a node that is no longer described": {change: func(j *judgement) { j.plan.Left = []string{"x is no longer in cluster.yaml"} }, lines: "  cluster.yaml: x is no longer in cluster.yaml"},
		"expected":                           {change: func(j *judgement) { j.swaps("a", "25", "10"); j.expected = ignore(setting) }, lines: "  cluster.yaml: a has changed, as environment.yaml expects"},
		"the whole node is expected":         {change: func(j *judgement) { j.swaps("a", "25", "10"); j.expected = ignore() }, lines: "  cluster.yaml: a has changed, as environment.yaml expects"},
		"another node is expected":           {change: func(j *judgement) { j.swaps("b", "25", "10"); j.expected = ignore() }, lines: "! cluster.yaml: b was changed (machine.sysctls.vm.swappiness: 10 → 25) on the node"},
		"another setting is expected":        {change: func(j *judgement) { j.swaps("a", "25", "10"); j.expected = ignore("talos") }, lines: "! cluster.yaml: a was changed (machine.sysctls.vm.swappiness: 10 → 25) on the node"},
		"one of two settings is expected": {change: func(j *judgement) {
			j.swaps("a", "25", "10")
			j.says("a", func(o *talosapi.Observation) { o.Version = "v1.14.2" })
			j.expected = ignore(setting)
		}, lines: "! cluster.yaml: a was changed (talos: v1.14.1 → v1.14.2) on the node"},
		"a file is not applied, as expected":    {change: func(j *judgement) { j.swaps("a", "10", "20"); j.expected = ignore() }, lines: "~ cluster.yaml: a is not applied yet: update (machine.sysctls.vm.swappiness: 10 → 20)"},
		"a reset is not expected by a setting":  {change: func(j *judgement) { j.new("a"); j.expected = ignore(setting) }, lines: "! cluster.yaml: a has lost its configuration"},
		"a reset is expected by the whole node": {change: func(j *judgement) { j.new("a"); j.expected = ignore() }, lines: "  cluster.yaml: a has changed, as environment.yaml expects"},

		// Without the secrets of the machines.
		"not asked": {change: func(j *judgement) { j.unasked() }, lines: notAsked},
		"not asked, and the files have changed": {
			change: func(j *judgement) { j.swaps("a", "10", "20"); j.unasked() },
			lines:  "~ cluster.yaml: a is not applied yet: update (machine.sysctls.vm.swappiness: 10 → 20)\n" + notAsked,
		},
		"not asked, and the version in the file has changed": {
			change: func(j *judgement) { j.spec.Talos = "v1.14.2"; j.unasked(); j.plan.Nodes = j.plan.Nodes[:1] },
			lines:  "~ cluster.yaml: a is not applied yet: update (talos: v1.14.1 → v1.14.2)\n" + notAsked,
		},
		"not asked, and never applied": {
			change: func(j *judgement) { j.unrecorded("a", "b", "w"); j.silent("a", "b", "w"); j.unasked() },
			lines:  "~ cluster.yaml: a is not applied yet: create\n~ cluster.yaml: b is not applied yet: create\n~ cluster.yaml: w is not applied yet: create\n" + notAsked,
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := matching()
			c.change(j)
			j.judge()
			check := drift.Check{Cluster: &j.found}
			got := []string{strings.Join(check.Lines(), "\n"), strings.Join(j.unknown, ", ")}
			if d := cmp.Diff([]string{c.lines, c.unknown}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

const notAsked = "  cluster.yaml: the nodes were not asked, because the secrets of the machines need another key: compared with the record of run one"

// stranger has another machine at the address of a node.
func (j *judgement) stranger(name string) {
	j.says(name, func(o *talosapi.Observation) {
		*o = talosapi.Observation{API: rollout.Stranger, Why: "it is not a Talos machine"}
	})
}

// member adds one to etcd, as every control plane sees it.
func (j *judgement) member(name string) {
	for _, n := range j.spec.Of(cluster.ControlPlane) {
		j.says(n.Name, func(o *talosapi.Observation) {
			o.Etcd.Members = append(slices.Clone(o.Etcd.Members), rollout.Member{ID: 9, Name: name})
		})
	}
}
