package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/plan"
)

// shout stands for a mask: what it was given is in capitals.
func shout(text string) string { return strings.ToUpper(text) }

func TestMaskAddress(t *testing.T) {
	for address, want := range map[string]string{
		`x.create`:                      `x.create`,
		`x.a[0]`:                        `x.a[0]`,
		`x.a["key"]`:                    `x.a["KEY"]`,
		`module.m["one"].x.a["t\"w]o"]`: `module.m["ONE"].x.a["T\"W]O"]`,
		`x.a["never ends`:               `x.a["NEVER ENDS`,
		``:                              ``,
	} {
		if got := MaskAddress(address, shout); got != want {
			t.Errorf("%s becomes %s, not %s", address, got, want)
		}
	}
}

// Names and actions stay, and what is masked is a copy.
func TestMasked(t *testing.T) {
	e := Environment{Name: "prod", Error: "an error", Hint: "a hint", Layers: []Layer{{Name: "base", Note: "later", Warnings: []string{"a warning"}, Summary: plan.Summary{
		Changes: []plan.Change{{Address: `x.a["key"]`, From: `x.b["key"]`, Action: plan.Create, Attributes: []string{"name"}, Forces: []string{"name"}}},
		Drift:   []plan.Drift{{Address: `x.d["key"]`, Attributes: []string{"name"}}},
		Outputs: []string{"output"},
	}}}}
	got := e.Masked(shout)
	change, drift := got.Layers[0].Summary.Changes[0], got.Layers[0].Summary.Drift[0]
	if got.Error != "AN ERROR" || got.Hint != "A HINT" || change.Address != `x.a["KEY"]` || change.From != `x.b["KEY"]` || drift.Address != `x.d["KEY"]` {
		t.Errorf("got %+v", got)
	}
	if got.Name != "prod" || got.Layers[0].Name != "base" || change.Action != plan.Create || change.Attributes[0] != "name" || drift.Attributes[0] != "name" || got.Layers[0].Summary.Outputs[0] != "output" {
		t.Errorf("a name is masked: %+v", got)
	}
	if got.Layers[0].Warnings[0] != "A WARNING" || e.Layers[0].Warnings[0] != "a warning" {
		t.Errorf("the warnings are %q and %q", got.Layers[0].Warnings, e.Layers[0].Warnings)
	}
	if e.Layers[0].Summary.Changes[0].Address != `x.a["key"]` || e.Layers[0].Summary.Drift[0].Address != `x.d["key"]` {
		t.Errorf("the original is masked: %+v", e)
	}
}

// Of a value in which the mask finds something, wherever that is, only the attribute's name
// is left; of the others, all of it.
func TestMaskedValues(t *testing.T) {
	mask := func(text string) string { return strings.ReplaceAll(text, "canary", "***") }
	for name, v := range map[string]plan.Value{
		"before": {Path: "a", Old: "x canary", New: "y"}, "after": {Path: "a", Old: "y", New: "canary"}, "a key": {Path: `a["canary"]`, Old: "x", New: "y"},
		"added": {Path: "a", Added: []string{"x", "canary"}}, "removed": {Path: "a[0].b", Removed: []string{"canary"}},
	} {
		kept := plan.Value{Path: "b", Old: "1", New: "2"}
		both := []plan.Value{v, kept}
		e := Environment{Layers: []Layer{{Summary: plan.Summary{
			Changes: []plan.Change{{Address: "x", Attributes: []string{"a", "b"}, Values: both}}, Drift: []plan.Drift{{Address: "x", Attributes: []string{"a", "b"}, Values: both}},
		}}}}
		s := e.Masked(mask).Layers[0].Summary
		for where, values := range map[string][]plan.Value{"a change": s.Changes[0].Values, "drift": s.Drift[0].Values} {
			if diff := cmp.Diff([]plan.Value{{Path: "a"}, kept}, values); diff != "" {
				t.Errorf("%s, in %s (-want +got):\n%s", name, where, diff)
			}
		}
		if got := oneLine(s.Changes[0]); got != "a; b: 1 → 2" {
			t.Errorf("%s: it is shown as %q", name, got)
		}
		if diff := cmp.Diff(v, e.Layers[0].Summary.Changes[0].Values[0]); diff != "" {
			t.Errorf("the original is masked: %s", diff)
		}
	}
}

func oneLine(c plan.Change) string {
	unsaid, values := describe(c.Attributes, c.Later, c.Values)
	return strings.Join(append(unsaid, values...), "; ")
}
