package drift

import (
	"slipway/internal/cluster"
	"slipway/internal/plan"
	"slipway/internal/report"
)

// A Cluster is the result for the environment's cluster. The addresses in it are names of nodes, or that of the cluster
// as long as it has none. A setting whose value may be shown is among the values, such as machine.sysctls.vm.swappiness;
// any other is an attribute, such as machine.env.HTTPS_PROXY. The setting talos is the version that a node runs.
type Cluster struct {
	Changed   []plan.Drift  `json:"changed,omitempty"`   // changed on the node since the last apply: an apply would revert it
	Unapplied []plan.Change `json:"unapplied,omitempty"` // changed in the code; create: the node gets its first configuration
	Differs   []plan.Change `json:"differs,omitempty"`   // one of both: no apply of this node is on record
	Foreign   []string      `json:"foreign,omitempty"`   // sentences on machines and members of etcd that do not belong to the cluster
	Expected  []string      `json:"expected,omitempty"`  // nodes with ignored changes
	Noted     []string      `json:"noted,omitempty"`     // sentences that do not count
}

// Clean reports whether the cluster matches its code.
func (c *Cluster) Clean() bool {
	return c == nil || len(c.Changed)+len(c.Unapplied)+len(c.Differs)+len(c.Foreign) == 0
}

// lines lists the findings, one per line.
func (c *Cluster) lines() (lines []string) {
	if c == nil {
		return nil
	}
	const in = cluster.FileName + ": "
	for _, text := range c.Foreign {
		lines = append(lines, "! "+in+text)
	}
	for _, d := range c.Changed {
		if d.Deleted {
			lines = append(lines, "! "+in+d.Address+" has lost its configuration")
			continue
		}
		lines = append(lines, "! "+in+d.Address+" was "+changed(d)+" on the node")
	}
	for _, u := range c.Unapplied {
		lines = append(lines, "~ "+in+u.Address+" is not applied yet: "+wanted(u))
	}
	for _, u := range c.Differs {
		lines = append(lines, "? "+in+u.Address+" differs ("+report.Describe(u.Attributes, nil, u.Values)+"), and no record says who changed it")
	}
	for _, name := range c.Expected {
		lines = append(lines, "  "+in+name+" has changed, as environment.yaml expects")
	}
	for _, text := range c.Noted {
		lines = append(lines, "  "+in+text)
	}
	return lines
}

// masked returns a copy with mask applied. Names of settings are masked, too: on a node, somebody may have made
// them up.
func (c *Cluster) masked(mask func(string) string) *Cluster {
	if c == nil {
		return nil
	}
	m := Cluster{
		Unapplied: maskChanges(c.Unapplied, mask), Differs: maskChanges(c.Differs, mask),
		Foreign: maskAll(c.Foreign, mask), Expected: c.Expected, Noted: maskAll(c.Noted, mask),
	}
	for _, d := range c.Changed {
		d.Attributes, d.Values = maskAll(d.Attributes, mask), plan.Concealed(d.Values, mask)
		m.Changed = append(m.Changed, d)
	}
	return &m
}

func maskChanges(changes []plan.Change, mask func(string) string) (masked []plan.Change) {
	for _, c := range changes {
		c.Attributes, c.Values = maskAll(c.Attributes, mask), plan.Concealed(c.Values, mask)
		masked = append(masked, c)
	}
	return masked
}

func maskAll(texts []string, mask func(string) string) (masked []string) {
	for _, text := range texts {
		masked = append(masked, mask(text))
	}
	return masked
}
