package plan

import (
	"fmt"
	"strings"
)

// signs are OpenTofu's own.
var signs = map[Action]string{
	Delete: "-", Replace: "-/+", Forget: ".", Unknown: "?", Create: "+", Update: "~", Import: "<", Move: ">",
}

// Console writes the summary for a terminal: the totals, then a line for each
// change, what is lost first.
func (s Summary) Console() string {
	var b strings.Builder
	if s.Errored {
		b.WriteString("The plan is not whole: it ended with an error and must not be applied.\n")
	}
	if s.Empty() {
		b.WriteString("No changes.\n")
	} else {
		b.WriteString(s.totals() + "\n")
	}
	for _, c := range s.Changes {
		fmt.Fprintf(&b, "  %-3s %s%s\n", signs[c.Action], printable(c.Address), c.remarks())
	}
	for _, name := range s.Outputs {
		fmt.Fprintf(&b, "  ~   output %s\n", printable(name))
	}
	for _, d := range s.Drift {
		fmt.Fprintf(&b, "  !   %s was changed outside of OpenTofu\n", printable(d.Address))
	}
	return b.String()
}

// totals counts by action, leaving out what there is none of.
func (s Summary) totals() string {
	var parts []string
	for _, action := range Actions {
		if n := s.Count(action); n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n, action))
		}
	}
	if len(parts) == 0 {
		return "Only outputs change."
	}
	return "Plan: " + strings.Join(parts, ", ") + "."
}

func (c Change) remarks() string {
	var parts []string
	if len(c.Attributes) > 0 {
		parts = append(parts, printable(strings.Join(c.Attributes, ", ")))
	}
	if c.From != "" {
		parts = append(parts, "moved from "+printable(c.From))
	}
	if c.Imported {
		parts = append(parts, "imported")
	}
	if c.Reason != "" {
		parts = append(parts, strings.ReplaceAll(printable(c.Reason), "_", " "))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// printable keeps a name, which a for_each key is part of, from steering the
// terminal.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, name)
}
