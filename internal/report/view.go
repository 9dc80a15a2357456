package report

import (
	"fmt"
	"strings"

	"slipway/internal/plan"
)

// A view is a report split into lines, shared by both formats.
type view struct {
	environments int
	failed       int // number of these that could not be planned completely
	layers       []layerView
	problems     []problemView
	total        tally
	warnings     int
	whole        string
}

type layerView struct {
	place, environment, layer string
	lost, warnings, other     []line
	tally                     tally
	note                      string // for the table
}

type problemView struct {
	place  string
	lines  []line
	failed bool // failed for another reason than an incomplete plan
}

func look(r Report) view {
	v := view{environments: len(r.Environments), total: tally{}}
	if r.Whole != "" {
		v.whole = name(r.Whole)
	}
	for _, e := range r.Environments {
		if lines := problemLines(e); len(lines) > 0 {
			v.problems = append(v.problems, problemView{place(e.Name, ""), lines, e.failed()})
		}
		if e.failed() {
			v.failed++
		}
		for _, l := range e.Layers {
			seen := lookAt(e, l)
			v.layers = append(v.layers, seen)
			v.total.add(seen.tally)
			v.warnings += len(seen.warnings)
		}
	}
	return v
}

func (e Environment) failed() bool { return len(e.Layers) == 0 || strings.TrimSpace(e.Error) != "" }

func lookAt(e Environment, l Layer) layerView {
	v := layerView{place: place(e.Name, l.Name), environment: place(e.Name, "")}
	if l.Name != e.Name && l.Name != "" {
		v.layer = shown(l.Name, longestPlace)
	}
	v.lost, v.other = linesOf(l)
	v.warnings = warningLines(l)
	v.tally = count(v.lost)
	v.tally.add(count(v.other))
	switch {
	case l.Summary.Errored:
		v.note = "incomplete"
	case l.Summary.Partial:
		v.note = "partial"
	case l.Note != "":
		v.note = "see below"
	}
	return v
}

// folded describes the changes of a layer that lose nothing: they may be folded.
func (v layerView) folded() string { return strings.Join(count(v.other).parts(""), ", ") }

// quiet reports whether there is nothing to report except warnings.
func (v view) quiet() bool { return len(v.total) == 0 && len(v.problems) == 0 }

// subject names what the totals describe, if it is a single environment or layer.
func (v view) subject() string {
	switch {
	case v.environments != 1 || len(v.layers) == 0:
		return ""
	case len(v.layers) == 1:
		return v.layers[0].place
	}
	return v.layers[0].environment
}

// totals returns the sentence that is never cut, and what else should come first.
func (v view) totals() (sentence, more string) {
	if v.warnings > 0 {
		more = " " + counted(v.warnings, "warning", "warnings") + "."
	}
	switch {
	case v.environments == 0:
		return "Nothing was planned.", ""
	case v.quiet() && v.environments > 1:
		return fmt.Sprintf("No changes in %s environments.", number(v.environments)), more
	case len(v.layers) == 0:
		return counted(v.failed, "environment", "environments") + " could not be planned.", ""
	}
	if n := v.total[drift]; n > 0 && len(v.layers) > 1 {
		more += " " + counted(n, "resource was", "resources were") + " changed outside of OpenTofu."
	}
	if v.failed > 0 {
		more += fmt.Sprintf(" %s of %s could not be planned.", number(v.failed), counted(v.environments, "environment", "environments"))
	}
	return v.total.sentence(), more
}

// heading returns the heading of the losses.
func (v view) heading() string {
	verb := "would"
	if v.total[plan.Unknown] > 0 {
		verb = "could" // the effect is unknown
	}
	var parts []string
	if n := v.total.losses(); n > 0 {
		parts = append(parts, "lose "+counted(n, "resource", "resources"))
	}
	if n := v.total.forgets(); n > 0 && len(parts) > 0 {
		parts = append(parts, "forget "+number(n))
	} else if n > 0 {
		parts = append(parts, "forget "+counted(n, "resource", "resources"))
	}
	return "An apply " + verb + " " + strings.Join(parts, " and ")
}
