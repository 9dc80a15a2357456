package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/plan"
)

func TestChangeLine(t *testing.T) {
	for name, c := range map[string]struct {
		change plan.Change
		want   string
	}{
		"names alone, of an older summary": {plan.Change{Action: plan.Update, Attributes: []string{"a", "id"}}, "~   x (a, id)\n"},
		"known later":                      {plan.Change{Action: plan.Update, Attributes: []string{"a", "id", "ip"}, Later: []string{"id", "ip"}}, "~   x (a; 2 known after apply)\n"},
		"only later":                       {plan.Change{Action: plan.Update, Attributes: []string{"id"}, Later: []string{"id"}}, "~   x (1 known after apply)\n"},
		"values": {plan.Change{Action: plan.Update, Attributes: []string{"a", "b", "c"}, Values: []plan.Value{{Path: "a", Old: "1", New: "2"}, {Path: "c[0].d", Added: []string{"x", "y"}, Removed: []string{"z"}, More: 1200}}},
			"~   x (b)\n      a: 1 → 2\n      c[0].d: +x, +y, -z and 1,200 more\n"},
		"a value, and more":         {plan.Change{Action: plan.Update, Attributes: []string{"a"}, Values: []plan.Value{{Path: "a.b", Old: "1", New: "2"}, {Path: "a"}}}, "~   x (a)\n      a.b: 1 → 2\n"},
		"a value, and a part later": {plan.Change{Action: plan.Update, Attributes: []string{"a"}, Later: []string{"a"}, Values: []plan.Value{{Path: "a.b", Old: "1", New: "2"}}}, "~   x (1 known after apply)\n      a.b: 1 → 2\n"},
		"of no attribute":           {plan.Change{Action: plan.Update, Attributes: []string{"a"}, Values: []plan.Value{{Path: "b", Old: "1", New: "2"}}}, "~   x (a)\n"},
		"created":                   {plan.Change{Action: plan.Create, Reason: "replace_by_triggers", Values: []plan.Value{{Path: "a", New: "1"}, {Path: "b"}, {Path: "c", New: "[x, y]", More: 2}}}, "+   x\n      a: 1, c: [x, y] and 2 more\n"},
		"forced":                    {plan.Change{Action: plan.Replace, Reason: "replace_because_cannot_update", Attributes: []string{"a", "b"}, Forces: []string{"a"}}, "-/+ x (b; forced by a)\n"},
		"forced, with values": {plan.Change{Action: plan.Replace, Reason: "replace_because_cannot_update", Attributes: []string{"a"}, Forces: []string{"a"}, Values: []plan.Value{{Path: "a", Old: "1", New: "2"}}},
			"-/+ x (forced by a)\n      a: 1 → 2\n"},
		"forced and tainted":      {plan.Change{Action: plan.Replace, Reason: "replace_because_tainted", Forces: []string{"a"}}, "-/+ x (forced by a; tainted)\n"},
		"forced, unknown by what": {plan.Change{Action: plan.Replace, Reason: "replace_because_cannot_update"}, "-/+ x (cannot be updated in place)\n"},
		"no longer in for_each":   {plan.Change{Action: plan.Delete, Reason: "delete_because_each_key"}, "-   x (no longer in for_each)\n"},
		"a reason of the future":  {plan.Change{Action: plan.Delete, Reason: "delete_because_moon_is_full"}, "-   x (delete because moon is full)\n"},
		"forgotten":               {plan.Change{Action: plan.Forget, Reason: "delete_because_no_resource_config"}, ".   x (removed from code; stays in the cloud, no longer managed)\n"},
		"forgotten and recreated": {plan.Change{Action: plan.Forget, Recreated: true, Forces: []string{"a"}, Reason: "forgot_because_lifecycle_destroy_in_config"}, "./+ x (forced by a; lifecycle has destroy = false; the old one stays in the cloud, no longer managed)\n"},
		"a value that is long": {plan.Change{Action: plan.Update, Attributes: []string{"a"}, Values: []plan.Value{{Path: "a", Old: strings.Repeat("x", 2000), New: "y"}}},
			"~   x\n      a: " + strings.Repeat("x", 430) + "…(1,143 bytes left out)…" + strings.Repeat("x", 427) + " → y\n"},
		"what steers a terminal": {plan.Change{Action: plan.Update, Attributes: []string{"a"}, Values: []plan.Value{{Path: "a", Old: "\x1b[2J", New: "a\nb\u202e"}}}, "~   x\n      a: ?[2J → a\\nb?\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c.change.Address = "x"
			l := list{lines: []line{changeLine(c.change)}}
			got := l.written(1, true, "")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if l.size(true) != len(got) {
				t.Errorf("its size is %d, and said to be %d", len(got), l.size(true))
			}
		})
	}
}

// Each reason that OpenTofu has is in words of its own.
func TestReasons(t *testing.T) {
	for word, text := range reasons {
		if strings.Contains(text, "_because_") || strings.Contains(text, "because") || text == "" || !strings.Contains(word, "_b") {
			t.Errorf("%s is shown as %q", word, text)
		}
	}
}

// What is forgotten is counted as such, and not as lost.
func TestForgets(t *testing.T) {
	change := func(action plan.Action, recreated bool) plan.Change {
		return plan.Change{Address: "x", Action: action, Recreated: recreated}
	}
	for name, c := range map[string]struct {
		changes           []plan.Change
		totals, headlines string
	}{
		"one":             {[]plan.Change{change(plan.Forget, false)}, "test: Plan: 1 to forget.", "### An apply would forget 1 resource\n"},
		"another is made": {[]plan.Change{change(plan.Forget, true)}, "test: Plan: 1 to forget and recreate.", "### An apply would forget 1 resource\n"},
		"both, and a delete": {[]plan.Change{change(plan.Delete, false), change(plan.Forget, false), change(plan.Forget, true)},
			"test: Plan: 1 to delete, 1 to forget, 1 to forget and recreate.", "### An apply would lose 1 resource and forget 2\n"},
		"an unknown one": {[]plan.Change{change("archive", true), change(plan.Forget, false)},
			"test: Plan: 1 to forget, 1 of an unknown action.", "### An apply could lose 1 resource and forget 1\n"},
		"a delete": {[]plan.Change{change(plan.Delete, false)}, "test: Plan: 1 to delete.", "### An apply would lose 1 resource\n"},
	} {
		r := Report{Environments: layer(plan.Summary{Changes: c.changes})}
		if got := Console(r, math.MaxInt); !strings.HasPrefix(got, c.totals+"\n") {
			t.Errorf("%s: got %s", name, got)
		}
		if got := Markdown(r, 65_536); !strings.Contains(got, c.headlines) {
			t.Errorf("%s: got %s", name, got)
		}
	}
	// In the table, too, which is there for more than one layer.
	r := Report{Environments: append(layer(plan.Summary{Changes: []plan.Change{change(plan.Forget, true), change(plan.Forget, false)}}), layer(plan.Summary{})...)}
	if got := Markdown(r, 65_536); !strings.Contains(got, "| environment | forget | forget and recreate |\n") || !strings.Contains(got, "| `test` | 1 | 1 |\n") {
		t.Errorf("got %s", got)
	}
}

// Warnings are shown also where nothing changes, and no room is taken for them that what
// is lost needs.
func TestWarnings(t *testing.T) {
	quiet := layer(plan.Summary{})
	quiet[0].Layers[0].Warnings = []string{"warning: one", "two"}
	if got := Console(Report{Environments: quiet}, math.MaxInt); got != "test: No changes. 2 warnings.\n  warning: one\n  warning: two\n" {
		t.Errorf("got %s", got)
	}
	if got := Console(Report{Environments: append(quiet, layer(plan.Summary{})...)}, math.MaxInt); !strings.HasPrefix(got, "No changes in 2 environments. 2 warnings.\n") || !strings.Contains(got, "  warning: two\n") {
		t.Errorf("got %s", got)
	}
	r := large(12)
	for range 5000 {
		r.Environments[0].Layers[0].Warnings = append(r.Environments[0].Layers[0].Warnings, "warning: "+strings.Repeat("w", 2000))
	}
	text := Markdown(r, 65_536)
	blocks := checkMarkdown(t, text, 65_536)
	if len(blocks) < 2 || len(blocks[0].lines) != 12 || !strings.Contains(text, "5,000 warnings.") || !strings.Contains(text, " more warnings") {
		t.Errorf("%d blocks: %s", len(blocks), text[:2000])
	}
}

// A summary of a runner before version 2 has names only, and is shown as it was.
func TestOlderSummary(t *testing.T) {
	const older = `{"name": "test", "digest": "sha256:1", "layers": [{"name": "test", "summary": {"changes": [
		{"address": "x", "action": "replace", "reason": "replace_because_cannot_update", "attributes": ["a", "id"], "forces": ["a"]},
		{"address": "y", "action": "forget", "recreated": true}], "drift": [{"address": "z", "attributes": ["a"], "answered": true}]}}]}`
	var e Environment
	if err := json.Unmarshal([]byte(older), &e); err != nil {
		t.Fatal(err)
	}
	want := "test: Plan: 1 to replace, 1 to forget and recreate.\n  -/+ x (id; forced by a)\n  ./+ y (the old one stays in the cloud, no longer managed)\n" +
		"  !   z was changed outside of OpenTofu (a; the plan changes it too)\n"
	if got := Console(Report{Environments: []Environment{e}}, math.MaxInt); e.Version != 0 || got != want {
		t.Errorf("version %d: got\n%s", e.Version, got)
	}
}

func TestDescribe(t *testing.T) {
	got := Describe([]string{"a", "b", "c"}, []string{"c"}, []plan.Value{{Path: "a", Old: "1", New: "2"}})
	if got != "a: 1 → 2, b, 1 known after apply" {
		t.Errorf("got %q", got)
	}
}
