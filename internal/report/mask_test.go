package report

import (
	"strings"
	"testing"

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
	e := Environment{Name: "prod", Error: "an error", Hint: "a hint", Layers: []Layer{{Name: "base", Note: "later", Summary: plan.Summary{
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
	if e.Layers[0].Summary.Changes[0].Address != `x.a["key"]` || e.Layers[0].Summary.Drift[0].Address != `x.d["key"]` {
		t.Errorf("the original is masked: %+v", e)
	}
}
