package clusters

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"slipway/internal/cluster"
	"slipway/internal/drift"
	"slipway/internal/environment"
	"slipway/internal/plan"
	"slipway/internal/rollout"
	"slipway/internal/talos"
)

// A judgement sorts the plan of a cluster into changes that were made on the nodes, and changes of the code.
type judgement struct {
	spec       *cluster.Cluster
	plan       *Plan
	said       State  // by the nodes
	last       record // empty: there is none that can be used
	asked      bool   // the nodes were asked
	unreadable error  // why the record cannot be used; nil: it can, or there is none
	expected   []environment.Ignore

	found   drift.Cluster
	unknown []string // nodes with a missing answer, and why it is missing
}

func (j *judgement) judge() {
	for _, n := range j.plan.Nodes {
		j.judgeNode(n)
		if why := j.unanswered(n); why != "" {
			j.unknown = append(j.unknown, n.Name+" ("+why+")")
		}
	}
	j.judgeMembers()
	j.found.Noted = j.plan.Left
	if j.unreadable != nil {
		j.found.Noted = append(j.found.Noted, "the record of the last apply cannot be used: "+j.unreadable.Error())
	}
	if !j.asked {
		j.found.Noted = append(j.found.Noted, "the nodes were not asked, because the secrets of the machines need another key: "+j.plan.Source)
	}
}

func (j *judgement) judgeNode(n NodePlan) {
	o := j.said.Nodes[n.Name]
	was, recorded := j.last.Nodes[n.Name]
	n.Changes = append(slices.Clone(n.Changes), j.outsideOfConfig(n)...)
	switch {
	case o.API == rollout.Stranger:
		j.found.Foreign = append(j.found.Foreign, fmt.Sprintf("another machine is at %s, the address of %s: %s", n.Address, n.Name, o.Why))
	case o.API == rollout.Maintenance && recorded:
		j.addChanged(plan.Drift{Address: n.Name, Deleted: true}, nil)
	case o.API == rollout.Maintenance || j.neverApplied(n):
		j.found.Unapplied = append(j.found.Unapplied, plan.Change{Address: n.Name, Action: plan.Create})
	case len(n.Changes) == 0:
	case !j.said.knows(n.Node):
		j.found.Unapplied = append(j.found.Unapplied, n.summary())
	case recorded:
		kept := append(slices.Clone(was.Settings), talos.Kept{Place: version, Value: released(was.Talos), Digest: was.Talos})
		onNode, inCode := talos.Since(kept, n.Changes)
		if len(onNode) > 0 {
			j.addChanged(plan.Drift{Address: n.Name}, onNode)
		}
		if n.Changes = inCode; len(inCode) > 0 {
			j.found.Unapplied = append(j.found.Unapplied, n.summary())
		}
	default:
		j.found.Differs = append(j.found.Differs, n.summary())
	}
}

// Two settings of a node are not in its configuration.
var (
	version = talos.Place{Path: []string{"talos"}}
	staged  = talos.Place{Path: []string{"configuration of the next start"}}
)

// outsideOfConfig returns the changes of these two. The version is that of the record if the node has not said it.
func (j *judgement) outsideOfConfig(n NodePlan) (changes []talos.Change) {
	o, runs := j.said.Nodes[n.Name], j.last.Nodes[n.Name].Talos
	if j.said.knows(n.Node) {
		runs = o.Version
	}
	if runs != "" && runs != j.spec.Talos {
		c := talos.Change{Sign: "~", Place: version, Was: runs}
		if c.Old = released(runs); c.Old != "" {
			c.New = j.spec.Talos
		}
		changes = append(changes, c)
	}
	if o.Staged {
		changes = append(changes, talos.Change{Sign: "~", Place: staged, Was: "staged"})
	}
	return changes
}

var release = regexp.MustCompile(`^v\d{1,4}\.\d{1,4}\.\d{1,4}(-[0-9A-Za-z.-]{1,40})?$`)

// released returns a version if it looks like one of Talos, and "" otherwise: a machine can say anything.
func released(version string) string {
	if !release.MatchString(version) {
		return ""
	}
	return version
}

// addChanged adds the changes that were made on a node, without the expected ones.
func (j *judgement) addChanged(d plan.Drift, changes []talos.Change) {
	left := changes
	for _, e := range j.expected {
		if e.Address != d.Address {
			continue
		}
		if len(e.Attributes) == 0 {
			j.found.Expected = append(j.found.Expected, d.Address)
			return
		}
		left = slices.DeleteFunc(slices.Clone(left), func(c talos.Change) bool { return slices.Contains(e.Attributes, c.Place.String()) })
	}
	if len(left) == 0 && !d.Deleted {
		j.found.Expected = append(j.found.Expected, d.Address)
		return
	}
	c := NodePlan{Node: cluster.Node{Name: d.Address}, Changes: left}.summary()
	d.Attributes, d.Values = c.Attributes, c.Values
	j.found.Changed = append(j.found.Changed, d)
}

// neverApplied reports whether a node that says nothing has never had a configuration, as far as the record knows:
// it is not on it, or there is none and no other node has a configuration either.
func (j *judgement) neverApplied(n NodePlan) bool {
	_, recorded := j.last.Nodes[n.Name]
	if recorded || j.unreadable != nil || j.said.Nodes[n.Name].API == rollout.Configured {
		return false
	}
	if j.last.Run != "" {
		return true
	}
	for _, o := range j.said.Nodes {
		if o.API != rollout.Silent && o.API != rollout.Maintenance {
			return false
		}
	}
	return true
}

// unanswered says why an answer of a node is missing; "" if none is.
func (j *judgement) unanswered(n NodePlan) string {
	o := j.said.Nodes[n.Name]
	switch {
	case !j.asked || o.API == rollout.Stranger || o.API == rollout.Maintenance || j.neverApplied(n):
		return ""
	case !j.said.knows(n.Node) || o.Version == "":
		return cmp.Or(o.Why, "its configuration could not be read")
	case n.Role == cluster.ControlPlane && !o.Etcd.Known:
		return "its etcd did not answer"
	}
	return ""
}

// judgeMembers finds the members of etcd that are not control planes of the cluster.
func (j *judgement) judgeMembers() {
	var seen []uint64
	for _, n := range j.spec.Of(cluster.ControlPlane) {
		for _, m := range j.said.Nodes[n.Name].Etcd.Members {
			named := func(n cluster.Node) bool { return n.Name == m.Name }
			if slices.Contains(seen, m.ID) || slices.ContainsFunc(j.spec.Of(cluster.ControlPlane), named) {
				continue
			}
			seen = append(seen, m.ID)
			j.found.Foreign = append(j.found.Foreign, fmt.Sprintf("etcd has the member %s, which is not a control plane in cluster.yaml", memberName(m)))
		}
	}
}

var hostname = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]{0,251}$`)

// memberName returns the name of a member of etcd, or its ID if it has no name that a host can have.
func memberName(m rollout.Member) string {
	if !hostname.MatchString(m.Name) {
		return fmt.Sprintf("%016x", m.ID)
	}
	return m.Name
}
