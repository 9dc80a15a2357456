package report

import (
	"slices"
	"strings"

	"slipway/internal/plan"
)

// A kind is the kind of a line in a report: an action, or one of these.
type kind = plan.Action

const (
	recreate kind = "forget and recreate" // a plan.Forget that creates a new resource in its place

	drift   kind = "drift"
	output  kind = "output"
	remark  kind = "remark"
	warning kind = "warning"
	problem kind = "problem"
	row     kind = "row"
	file    kind = "file"
)

// changeKinds are the kinds of what a plan does, in display order.
var changeKinds = []kind{plan.Delete, plan.Replace, plan.Forget, recreate, plan.Unknown, plan.Create, plan.Update, plan.Import, plan.Move}

// kinds lists all kinds in display order, with the words for their counts.
var kinds = []struct {
	kind
	one, many string
}{
	{plan.Delete, "delete", "deletes"},
	{plan.Replace, "replacement", "replacements"},
	{plan.Forget, "forget", "forgets"},
	{recreate, "forget with recreation", "forgets with recreation"},
	{plan.Unknown, "unknown action", "unknown actions"},
	{plan.Create, "create", "creates"},
	{plan.Update, "update", "updates"},
	{plan.Import, "import", "imports"},
	{plan.Move, "move", "moves"},
	{drift, "drifted resource", "drifted resources"},
	{output, "output", "outputs"},
	{remark, "note", "notes"},
	{warning, "warning", "warnings"},
	{problem, "line on what could not be planned", "lines on what could not be planned"},
	{row, "row of the table", "rows of the table"},
	{file, "file", "files"},
}

// A tally counts lines by kind.
type tally map[kind]int

func count(lines []line) tally {
	t := tally{}
	for _, l := range lines {
		t[l.kind]++
	}
	return t
}

func (t tally) add(other tally) {
	for k, n := range other {
		t[k] += n
	}
}

// losses counts what an apply would or could lose: the effect of an unknown action is not known.
func (t tally) losses() int { return t[plan.Delete] + t[plan.Replace] + t[plan.Unknown] }

// forgets counts what an apply would leave in the cloud but no longer manage.
func (t tally) forgets() int { return t[plan.Forget] + t[recreate] }

// parts lists the non-zero counts: 9,312 creates, 1 output.
func (t tally) parts(more string) []string {
	var parts []string
	for _, k := range kinds {
		if n := t[k.kind]; n > 0 {
			parts = append(parts, counted(n, more+k.one, more+k.many))
		}
	}
	return parts
}

// sentence describes the totals of a plan.
func (t tally) sentence() string {
	if actions := t.actions(); actions != "" {
		return "Plan: " + actions + "."
	}
	if t[output] > 0 {
		return "Only outputs change."
	}
	return "No changes."
}

// actions lists what an apply would do: 1 to delete, 2 to create.
func (t tally) actions() string {
	var parts []string
	for _, action := range changeKinds {
		switch n := t[action]; {
		case n > 0 && action == plan.Unknown:
			parts = append(parts, number(n)+" of an unknown action")
		case n > 0:
			parts = append(parts, number(n)+" to "+string(action))
		}
	}
	return strings.Join(parts, ", ")
}

// kindOf returns the kind of a change.
func kindOf(c plan.Change) kind {
	if c.Action == plan.Forget && c.Recreated {
		return recreate
	}
	return known(c.Action)
}

// known returns the action, or Unknown if it comes from a newer version.
func known(action plan.Action) plan.Action {
	if slices.Contains(plan.Actions, action) {
		return action
	}
	return plan.Unknown
}
