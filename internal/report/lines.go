package report

import (
	"fmt"
	"slices"
	"strings"

	"slipway/internal/plan"
)

// A line tells of one thing. The brackets are left out where space is short.
type line struct {
	kind
	text, brackets string
}

// signs are OpenTofu's own.
var signs = map[plan.Action]string{
	plan.Delete: "-", plan.Replace: "-/+", plan.Forget: ".", plan.Unknown: "?",
	plan.Create: "+", plan.Update: "~", plan.Import: "<", plan.Move: ">",
}

func signed(sign, text string) string { return fmt.Sprintf("%-3s %s", sign, text) }

// bracketed puts what there is of remarks in brackets.
func bracketed(remarks ...string) string {
	remarks = slices.DeleteFunc(remarks, func(r string) bool { return r == "" })
	if len(remarks) == 0 {
		return ""
	}
	return " (" + strings.Join(remarks, "; ") + ")"
}

func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

func changeLine(c plan.Change) line {
	action := known(c.Action)
	return line{action, signed(signs[action], name(c.Address)), bracketed(
		names(c.Attributes),
		when(len(c.Forces) > 0, "forced by "+names(c.Forces)),
		when(c.From != "", "moved from "+name(c.From)),
		when(c.Imported, "imported"),
		when(c.Deposed, "deposed object"),
		when(c.Recreated, "another is made in its place"),
		when(c.Reason != "", strings.ReplaceAll(name(c.Reason), "_", " ")),
	)}
}

func driftLine(d plan.Drift) line {
	how, answer := "changed", "the plan leaves it so"
	if d.Deleted {
		how = "deleted"
	}
	if d.Answered {
		answer = "the plan changes it too"
	}
	return line{drift, signed("!", name(d.Address)+" was "+how+" outside of OpenTofu"), bracketed(
		when(!d.Deleted, names(d.Attributes)), answer,
	)}
}

// linesOf makes the lines of a layer: what is lost, and all the rest.
func linesOf(l Layer) (lost, other []line) {
	if l.Note != "" {
		other = append(other, line{remark, signed("#", name(l.Note)), ""})
	}
	if l.Summary.Partial {
		other = append(other, line{remark, signed("#", "this leaves out what can only be planned after its apply"), ""})
	}
	for _, action := range plan.Actions {
		for _, c := range l.Summary.Changes {
			if known(c.Action) != action {
				continue
			}
			if action.Loses() {
				lost = append(lost, changeLine(c))
			} else {
				other = append(other, changeLine(c))
			}
		}
	}
	for _, d := range l.Summary.Drift {
		other = append(other, driftLine(d))
	}
	for _, o := range l.Summary.Outputs {
		other = append(other, line{output, signed("~", "output "+name(o)), ""})
	}
	return lost, other
}

// problemLines say that, and why, an environment could not be planned.
func problemLines(e Environment) []line {
	var lines []line
	add := func(text string) { lines = append(lines, line{problem, text, ""}) }
	first := place(e.Name, "") + ": "
	for _, text := range textLines(e.Error) {
		add(first + text)
		first = "    "
	}
	if len(lines) == 0 && e.failed() {
		add(first + "nothing was planned")
	}
	for _, l := range e.Layers {
		if l.Summary.Errored {
			add(place(e.Name, l.Name) + ": the plan is not whole: it ended with an error and must not be applied")
		}
	}
	for _, text := range textLines(e.Hint) {
		add("  hint: " + text)
	}
	return lines
}

// textLines takes apart the only text that may have several lines.
func textLines(text string) []string {
	var lines []string
	for l := range strings.Lines(strings.TrimSpace(text)) {
		l = strings.ReplaceAll(strings.TrimRight(l, "\r\n"), "\t", "  ")
		lines = append(lines, shown(l, longestText))
	}
	return lines
}
