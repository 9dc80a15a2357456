package drift

import (
	"fmt"
	"strconv"
	"strings"

	"slipway/internal/plan"
	"slipway/internal/report"
)

// Headline summarises the result in a few words, without names. A check that failed may have found
// something before.
func (c Check) Headline() string {
	found := c.found()
	switch {
	case c.Status == Unchecked && found == "":
		return "could not be checked for drift"
	case c.Status == Unchecked:
		return "could not be checked for drift to the end: " + found
	case found == "":
		return "matches its code"
	}
	return "does not match its code: " + found
}

// found counts the findings.
func (c Check) found() string {
	var cloud, nodes, code, differ int
	for _, l := range c.Layers {
		cloud += len(l.Cloud)
		code += len(l.Unapplied) + len(l.Outputs)
	}
	if k := c.Cluster; k != nil {
		nodes, differ = len(k.Changed)+len(k.Foreign), len(k.Differs)
		code += len(k.Unapplied)
	}
	var parts []string
	count := func(n int, text string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, text))
		}
	}
	count(cloud, "changed in the cloud")
	count(nodes, "changed in the cluster")
	count(code, "not applied yet")
	count(differ, "differing from cluster.yaml")
	count(len(c.Hosts), "that the playbook would change")
	return strings.Join(parts, ", ")
}

// Lines lists the findings, one per line. Names in them come from the plan and may contain
// anything.
func (c Check) Lines() []string {
	var lines []string
	for _, l := range c.Layers {
		in := ""
		if len(c.Layers) > 1 {
			in = l.Name + ": "
		}
		for _, d := range l.Cloud {
			lines = append(lines, "! "+in+d.Address+" was "+changed(d)+" in the cloud")
		}
		for _, u := range l.Unapplied {
			lines = append(lines, "~ "+in+u.Address+" is not applied yet: "+wanted(u))
		}
		for _, name := range l.Outputs {
			lines = append(lines, "~ "+in+"output "+name+" is not applied yet")
		}
		for _, address := range l.Expected {
			lines = append(lines, "  "+in+address+" has changed, as environment.yaml expects")
		}
		for _, d := range l.Noted {
			lines = append(lines, "  "+in+d.Address+" was "+changed(d)+" in the cloud, but the code does not set it")
		}
	}
	lines = append(lines, c.Cluster.lines()...)
	for _, h := range c.Hosts {
		lines = append(lines, strings.TrimSpace("! "+h.Name+": the playbook would change it in "+strconv.Quote(h.Task)+" "+h.Item))
	}
	for _, address := range c.Expired {
		lines = append(lines, "  "+address+" is still in drift.ignore, but the entry has expired")
	}
	return lines
}

func changed(d plan.Drift) string {
	switch {
	case d.Deleted:
		return "deleted"
	case len(d.Attributes) > 0:
		return "changed (" + report.Describe(d.Attributes, nil, d.Values) + ")"
	}
	return "changed"
}

func wanted(c plan.Change) string {
	if len(c.Attributes) > 0 {
		return string(c.Action) + " (" + report.Describe(c.Attributes, c.Later, c.Values) + ")"
	}
	return string(c.Action)
}

// Block lists why a check failed, and the findings, as a Markdown code block of at most limit bytes.
func (c Check) Block(limit int) string {
	var lines []string
	if c.Status == Unchecked {
		lines = strings.Split(c.Error, "\n")
		if c.Hint != "" {
			lines = append(lines, "hint: "+c.Hint)
		}
	}
	return report.Block(append(lines, c.Lines()...), limit)
}
