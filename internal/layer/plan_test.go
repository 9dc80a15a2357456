package layer_test

import (
	"bytes"
	"slices"
	"testing"

	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// Drift has its own events, besides those for planned changes.
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
		if got := layer.DriftIn(e); !ok || !slices.EqualFunc(got, c.want, func(a, b plan.Drift) bool { return a.Address == b.Address && a.Deleted == b.Deleted }) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A plan that could not be read is an error.
func TestReducedFails(t *testing.T) {
	testkit.WithoutTofu(t)
	_, err := testkit.New(t).ReadPlan(t.Context())
	must.NotStarted(t, err, "show")
}

// The warnings of a command that succeeded are shown, and kept for the review, without their
// details. Nothing else is kept.
func TestWarn(t *testing.T) {
	d := testkit.New(t)
	d.Diagnostics = []tofu.Diagnostic{{Severity: "error", Summary: "an error"}, {Severity: "warning", Summary: "a warning", Detail: "a value"}, {Severity: "warning", Summary: "a warning", Detail: "another"}}
	d.Layer.Other([]byte("a line"))
	d.Warn()
	if text := d.Stderr.(*bytes.Buffer).String(); text != "warning: a warning\n" {
		t.Errorf("it says %q", text)
	}
	if len(d.Diagnostics) > 0 || d.Printed.String() != "" {
		t.Errorf("it keeps %v and %q", d.Diagnostics, d.Printed.String())
	}
	if !slices.Equal(d.Warnings, []string{"warning: a warning"}) {
		t.Errorf("the review is to show %q", d.Warnings)
	}
}
