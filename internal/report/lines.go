package report

import (
	"fmt"
	"slices"
	"strings"

	"slipway/internal/plan"
)

// A line reports one thing. The brackets, and the values below it, are dropped if space is short.
type line struct {
	kind
	text, brackets string
	values         []string // each on its own line
}

// The signs are OpenTofu's own.
var signs = map[plan.Action]string{
	plan.Delete: "-", plan.Replace: "-/+", plan.Forget: ".", plan.Unknown: "?",
	plan.Create: "+", plan.Update: "~", plan.Import: "<", plan.Move: ">", recreate: "./+",
}

func signed(sign, text string) string { return fmt.Sprintf("%-3s %s", sign, text) }

// bracketed joins the non-empty remarks in brackets.
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
	l := line{kind: kindOf(c)}
	l.text = signed(signs[l.kind], name(c.Address))
	unsaid, values := describe(c.Attributes, c.Later, c.Values)
	if l.values = values; l.kind == plan.Create {
		l.values = madeOf(c.Values)
	}
	// Those are already listed with their effect.
	unsaid = slices.DeleteFunc(unsaid, func(name string) bool { return slices.Contains(c.Forces, name) })
	l.brackets = bracketed(
		names(unsaid),
		knownLater(c.Later),
		reason(c),
		when(c.From != "", "moved from "+name(c.From)),
		when(c.Imported, "imported"),
		when(c.Deposed, "deposed object"),
		when(c.Restarts, "restarts"),
		when(l.kind == plan.Forget, "stays in the cloud, no longer managed"),
		when(l.kind == recreate, "the old one stays in the cloud, no longer managed"),
	)
	return l
}

func driftLine(d plan.Drift) line {
	how, answer := "changed", "the plan keeps it"
	if d.Deleted {
		how, d.Attributes = "deleted", nil
	}
	if d.Answered {
		answer = "the plan changes it too"
	}
	unsaid, values := describe(d.Attributes, nil, d.Values)
	return line{drift, signed("!", name(d.Address)+" was "+how+" outside of OpenTofu"), bracketed(names(unsaid), answer), values}
}

// linesOf returns the lines of a layer: losses, and everything else.
func linesOf(l Layer) (lost, other []line) {
	if l.Note != "" {
		other = append(other, line{kind: remark, text: signed("#", name(l.Note))})
	}
	if l.Summary.Partial {
		other = append(other, line{kind: remark, text: signed("#", "this excludes what can only be planned after this apply")})
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
		other = append(other, line{kind: output, text: signed("~", "output "+name(o))})
	}
	return lost, other
}

// warningLines returns the warnings of a layer. Each line begins with that word, as in OpenTofu, so
// that none looks like a line about something else.
func warningLines(l Layer) []line {
	var lines []line
	for _, text := range l.Warnings {
		const begin = "warning: "
		lines = append(lines, line{kind: warning, text: begin + shown(strings.TrimPrefix(text, begin), longestText)})
	}
	return lines
}

// problemLines says which environment could not be planned, and why.
func problemLines(e Environment) []line {
	var lines []line
	add := func(text string) { lines = append(lines, line{kind: problem, text: text}) }
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
			add(place(e.Name, l.Name) + ": the plan is incomplete: it ended with an error and must not be applied")
		}
	}
	for _, text := range textLines(e.Hint) {
		add("  hint: " + text)
	}
	return lines
}

// textLines splits the only text that may have several lines.
func textLines(text string) []string {
	var lines []string
	for l := range strings.Lines(strings.TrimSpace(text)) {
		l = strings.ReplaceAll(strings.TrimRight(l, "\r\n"), "\t", "  ")
		lines = append(lines, shown(l, longestText))
	}
	return lines
}
