package stage

import (
	"bytes"
	"slices"
	"testing"

	"slipway/internal/plan"
	"slipway/internal/tofu"
)

// What drifted is told by events of its own, beside those of what is planned.
func TestDriftIn(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		want  []plan.Drift
	}{
		"changed": {`{"type":"resource_drift","change":{"resource":{"addr":"a.b"},"action":"update"}}`, []plan.Drift{{Address: "a.b"}}},
		"deleted": {`{"type":"resource_drift","change":{"resource":{"addr":"a.b"},"action":"delete"}}`, []plan.Drift{{Address: "a.b", Deleted: true}}},
		"planned": {`{"type":"planned_change","change":{"resource":{"addr":"a.b"},"action":"delete"}}`, nil},
	} {
		e, ok := tofu.ReadEvent([]byte(c.event))
		if got := driftIn(e); !ok || !slices.EqualFunc(got, c.want, func(a, b plan.Drift) bool { return a.Address == b.Address && a.Deleted == b.Deleted }) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A plan is read where it changes something, and for a check for drift where something
// drifted.
func TestToBeRead(t *testing.T) {
	drifted := plan.Summary{Drift: []plan.Drift{{Address: "a.b"}}}
	for name, c := range map[string]struct {
		stage   string
		code    int
		summary plan.Summary
		want    bool
	}{
		"changes":                       {stage: "plan", code: tofu.ExitChanges, want: true},
		"changes of what drifted":       {stage: "apply", code: tofu.ExitChanges, summary: drifted, want: true},
		"nothing":                       {stage: "plan"},
		"drift, for a plan":             {stage: "plan", summary: drifted},
		"drift, for a check of it":      {stage: "drift", summary: drifted, want: true},
		"no drift, for a check of it":   {stage: "drift"},
		"changes, for a check of drift": {stage: "drift", code: tofu.ExitChanges, want: true},
	} {
		s := &session{}
		s.result.Stage = c.stage
		if got := s.toBeRead(c.code, c.summary); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A plan that could not be read is none.
func TestReducedFails(t *testing.T) {
	withoutTofu(t)
	_, err := newDesk(t).reduced(t.Context())
	notStarted(t, err, "show")
}

// Of a command that went well, warnings are shown, and kept for the review, without their
// details. Nothing else is kept.
func TestWarn(t *testing.T) {
	d := newDesk(t)
	d.diagnostics = []tofu.Diagnostic{{Severity: "error", Summary: "an error"}, {Severity: "warning", Summary: "a warning", Detail: "a value"}}
	d.root.other([]byte("a line"))
	d.warn()
	if text := d.Stderr.(*bytes.Buffer).String(); text != "warning: a warning\n" {
		t.Errorf("it says %q", text)
	}
	if len(d.diagnostics) > 0 || d.noise.String() != "" {
		t.Errorf("it keeps %v and %q", d.diagnostics, d.noise.String())
	}
	if !slices.Equal(d.warnings, []string{"warning: a warning"}) {
		t.Errorf("the review is to show %q", d.warnings)
	}
}
