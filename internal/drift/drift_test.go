package drift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/environment"
	"slipway/internal/plan"
)

var now = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// Changes in the cloud are distinguished from changes in the code.
func TestJudge(t *testing.T) {
	update := func(address string, attributes ...string) plan.Change {
		return plan.Change{Address: address, Action: plan.Update, Attributes: attributes}
	}
	drift := func(address string, attributes ...string) plan.Drift {
		return plan.Drift{Address: address, Attributes: attributes}
	}
	until := func(day string, attributes ...string) []environment.Ignore {
		return []environment.Ignore{{Address: "a.b", Attributes: attributes, Until: day, Reason: "a test"}}
	}
	for name, c := range map[string]struct {
		summary  plan.Summary
		expected []environment.Ignore
		want     Layer
	}{
		"nothing": {},
		"a change in the cloud": {
			summary: plan.Summary{Drift: []plan.Drift{drift("a.b", "size")}, Changes: []plan.Change{update("a.b", "size")}, Outputs: []string{"size"}},
			want:    Layer{Cloud: []plan.Drift{drift("a.b", "size")}},
		},
		"deleted in the cloud": {
			summary: plan.Summary{Drift: []plan.Drift{{Address: "a.b", Deleted: true}}, Changes: []plan.Change{{Address: "a.b", Action: plan.Create}}},
			want:    Layer{Cloud: []plan.Drift{{Address: "a.b", Deleted: true}}},
		},
		"code that is not applied": {
			summary: plan.Summary{Changes: []plan.Change{update("a.b", "size")}, Outputs: []string{"size"}},
			want:    Layer{Unapplied: []plan.Change{update("a.b", "size")}, Outputs: []string{"size"}},
		},
		"an output alone": {
			summary: plan.Summary{Outputs: []string{"size"}},
			want:    Layer{Outputs: []string{"size"}},
		},
		"both": {
			summary: plan.Summary{Drift: []plan.Drift{drift("a.b", "size")}, Changes: []plan.Change{update("a.b", "size"), update("a.c", "name")}},
			want:    Layer{Cloud: []plan.Drift{drift("a.b", "size")}, Unapplied: []plan.Change{update("a.c", "name")}},
		},
		"a change that the code does not mind": {
			summary: plan.Summary{Drift: []plan.Drift{drift("a.b", "updated_at")}},
			want:    Layer{Noted: []plan.Drift{drift("a.b", "updated_at")}},
		},
		"expected": {
			summary:  plan.Summary{Drift: []plan.Drift{drift("a.b", "size")}, Changes: []plan.Change{update("a.b", "size")}},
			expected: until("2026-11-21"),
			want:     Layer{Expected: []string{"a.b"}},
		},
		"expected until yesterday": {
			summary:  plan.Summary{Drift: []plan.Drift{drift("a.b", "size")}, Changes: []plan.Change{update("a.b", "size")}},
			expected: until("2026-11-20"),
			want:     Layer{Cloud: []plan.Drift{drift("a.b", "size")}},
		},
		"an attribute is expected": {
			summary:  plan.Summary{Drift: []plan.Drift{drift("a.b", "tags")}, Changes: []plan.Change{update("a.b", "tags")}},
			expected: until("2026-12-31", "tags"),
			want:     Layer{Expected: []string{"a.b"}},
		},
		"another attribute is expected": {
			summary:  plan.Summary{Drift: []plan.Drift{drift("a.b", "size", "tags")}, Changes: []plan.Change{update("a.b", "size", "tags")}},
			expected: until("2026-12-31", "tags"),
			want:     Layer{Cloud: []plan.Drift{drift("a.b", "size")}},
		},
		"an attribute is expected, and it was deleted": {
			summary:  plan.Summary{Drift: []plan.Drift{{Address: "a.b", Deleted: true}}, Changes: []plan.Change{{Address: "a.b", Action: plan.Create}}},
			expected: until("2026-12-31", "tags"),
			want:     Layer{Cloud: []plan.Drift{{Address: "a.b", Deleted: true}}},
		},
		"the list is of another resource": {
			summary:  plan.Summary{Drift: []plan.Drift{drift("a.c", "size")}, Changes: []plan.Change{update("a.c", "size")}},
			expected: until("2026-12-31"),
			want:     Layer{Cloud: []plan.Drift{drift("a.c", "size")}},
		},
		"code on what is expected in the cloud is not drift": {
			summary:  plan.Summary{Changes: []plan.Change{update("a.b", "size")}},
			expected: until("2026-12-31"),
			want:     Layer{Unapplied: []plan.Change{update("a.b", "size")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Name = "test"
			got := Judge("test", c.summary, c.expected, now)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			check := Check{Layers: []Layer{{}, got}}
			check.Conclude()
			if want := got.Clean(); (check.Status == Clean) != want {
				t.Errorf("it concludes %s", check.Status)
			}
		})
	}
}

// Values of changes are shown; values of expected changes are not.
func TestLinesWithValues(t *testing.T) {
	size, tags := plan.Value{Path: "size", Old: "1", New: "2"}, plan.Value{Path: "tags", Added: []string{"x"}}
	summary := plan.Summary{
		Drift: []plan.Drift{{Address: "a.b", Attributes: []string{"size", "tags"}, Values: []plan.Value{size, tags}}, {Address: "a.d", Attributes: []string{"size"}, Values: []plan.Value{size}}},
		Changes: []plan.Change{
			{Address: "a.b", Action: plan.Update, Attributes: []string{"size", "tags"}},
			{Address: "a.c", Action: plan.Update, Attributes: []string{"id", "name", "size"}, Later: []string{"id"}, Values: []plan.Value{size}},
		},
	}
	expected := []environment.Ignore{{Address: "a.b", Attributes: []string{"tags"}, Until: "2026-12-31", Reason: "a test"}}
	check := Check{Layers: []Layer{Judge("test", summary, expected, now)}}
	want := []string{
		"! a.b was changed (size: 1 → 2) in the cloud",
		"~ a.c is not applied yet: update (size: 1 → 2, name, 1 known after apply)",
		"  a.d was changed (size: 1 → 2) in the cloud, but the code does not set it",
	}
	if diff := cmp.Diff(want, check.Lines()); diff != "" {
		t.Error(diff)
	}
}

// A row of hits ends with another status.
func TestCount(t *testing.T) {
	var record Record
	for i, step := range []struct {
		status Status
		hits   int
	}{{Clean, 1}, {Clean, 2}, {Drifted, 1}, {Drifted, 2}, {Unchecked, 1}, {Drifted, 1}} {
		c := Check{Status: step.status, Time: now}
		record = c.Count(record)
		if c.Hits != step.hits || record.Hits != step.hits {
			t.Errorf("step %d: %d hits, want %d", i, c.Hits, step.hits)
		}
	}
}
