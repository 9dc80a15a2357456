package report

import (
	"fmt"
	"slices"
	"strings"
)

// A document is a report before it is cut to the available length.
type document struct {
	head  string // never cut
	short string // used if not even the head fits
	whole string // where to get the full report

	table, problems, losses, warnings, files, others group
}

// A group is several lists under one heading, and the room for them.
type group struct {
	heading string
	lists   []*list
}

// within returns the document in at most limit bytes.
func (d *document) within(limit int) string {
	if text, missing := d.body(limit - len(d.head)); missing == "" && len(d.head)+len(text) <= limit {
		return trimmed(d.head + text)
	}
	// No summary of missing lines is longer than that of all lines.
	_, longest := d.body(0)
	if room := limit - len(d.head) - len(longest); room >= 0 {
		text, missing := d.body(room)
		return trimmed(d.head + text + missing)
	}
	for _, text := range []string{d.head + "The lists are left out for length.\n", d.head, d.short, "…\n"} {
		if text = trimmed(text); len(text) <= limit {
			return text
		}
	}
	return ""
}

// body divides the room among the lists. What is cut last gets room first, which is not the order
// of display. It also summarises the lists that are not shown at all.
func (d *document) body(room int) (text, missing string) {
	for _, g := range []*group{&d.table, &d.losses, &d.problems, &d.warnings, &d.files, &d.others} {
		room -= g.fit(room)
	}
	cut, lists := tally{}, 0
	for _, g := range []*group{&d.table, &d.problems, &d.losses, &d.warnings, &d.files, &d.others} {
		for _, l := range g.lists {
			if l.text == "" {
				cut.add(l.cut)
				lists++
			}
		}
		text += g.text()
	}
	if lists == 0 {
		return text, ""
	}
	missing = fmt.Sprintf("… and %s in %s that are not shown", strings.Join(cut.parts("more "), ", "), counted(lists, "list", "lists"))
	if d.whole != "" {
		missing += "; full report: " + d.whole
	}
	return text, missing + "\n"
}

// fit fills the lists and returns the number of bytes they take. Room that short lists do not need
// goes to the long ones.
func (g *group) fit(room int) int {
	room -= len(g.heading)
	order := slices.Clone(g.lists)
	slices.SortStableFunc(order, func(a, b *list) int { return a.size(true) - b.size(true) })
	for i, l := range order {
		l.fill(room / (len(order) - i))
		room -= len(l.text)
	}
	return len(g.text())
}

func (g *group) text() string {
	var b strings.Builder
	for _, l := range g.lists {
		b.WriteString(l.text)
	}
	if b.Len() == 0 {
		return ""
	}
	return g.heading + b.String()
}

// trimmed ends a text with exactly one line break.
func trimmed(text string) string { return strings.TrimRight(text, "\n") + "\n" }
