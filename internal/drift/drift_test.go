package drift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway/internal/environment"
	"slipway/internal/plan"
	"slipway/internal/report"
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
		"a change in the cloud that the code does not revert": {
			summary:  plan.Summary{Drift: []plan.Drift{drift("a.b", "size", "tags")}, Changes: []plan.Change{update("a.b", "tags")}},
			expected: until("2026-12-31", "tags"),
			want:     Layer{Cloud: []plan.Drift{drift("a.b", "size")}},
		},
		"an attribute is expected, and the code changes another": {
			summary:  plan.Summary{Drift: []plan.Drift{drift("a.b", "tags")}, Changes: []plan.Change{update("a.b", "size", "tags")}},
			expected: until("2026-12-31", "tags"),
			want:     Layer{Cloud: []plan.Drift{{Address: "a.b", Attributes: []string{}}}},
		},
		"an attribute is expected, and not that it takes a replacement": {
			summary:  plan.Summary{Drift: []plan.Drift{drift("a.b", "tags")}, Changes: []plan.Change{{Address: "a.b", Action: plan.Replace, Attributes: []string{"tags"}}}},
			expected: until("2026-12-31", "tags"),
			want:     Layer{Cloud: []plan.Drift{drift("a.b", "tags")}},
		},
		"an attribute is expected, and not that it is deleted and imported": {
			summary:  plan.Summary{Drift: []plan.Drift{{Address: "a.b", Deleted: true}}, Changes: []plan.Change{update("a.b", "tags")}},
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

// Each finding has a line and is counted. Several layers are told apart.
func TestText(t *testing.T) {
	check := Check{
		Layers: []Layer{
			{Name: "net", Cloud: []plan.Drift{{Address: "a.b"}, {Address: "a.c", Deleted: true}}, Outputs: []string{"url"}},
			{Name: "app", Unapplied: []plan.Change{{Address: "a.d", Action: plan.Create}}, Expected: []string{"a.e"}},
		},
		Hosts:   []Host{{Name: "web", Task: "nginx : Install"}, {Name: "web", Task: "Copy", Item: "(item=a)"}, {Name: "db", Task: "Copy"}},
		Expired: []string{"a.f"},
	}
	check.Conclude()
	lines := []string{
		"! net: a.b was changed in the cloud",
		"! net: a.c was deleted in the cloud",
		"~ net: output url is not applied yet",
		"~ app: a.d is not applied yet: create",
		"  app: a.e has changed, as environment.yaml expects",
		`! web: the playbook would change it in "nginx : Install"`,
		`! web: the playbook would change it in "Copy" (item=a)`,
		`! db: the playbook would change it in "Copy"`,
		"  a.f is still in drift.ignore, but the entry has expired",
	}
	if diff := cmp.Diff(lines, check.Lines()); diff != "" {
		t.Error(diff)
	}
	const found = "2 changed in the cloud, 2 not applied yet, 3 that the playbook would change"
	if got := check.Headline(); got != "does not match its code: "+found {
		t.Error(got)
	}
	if got, want := check.Block(10000), report.Block(lines, 10000); got != want {
		t.Errorf("got\n%s", got)
	}
	hosts := Check{Hosts: check.Hosts}
	if hosts.Conclude(); hosts.Status != Drifted {
		t.Errorf("a host that the playbook would change is %s", hosts.Status)
	}

	// A check that failed says why, and what it found before.
	check.Status, check.Error, check.Hint = Unchecked, "no such host\nat all", "dagger call drift --env=prod"
	if got := check.Headline(); got != "could not be checked for drift to the end: "+found {
		t.Error(got)
	}
	why := []string{"no such host", "at all", "hint: dagger call drift --env=prod"}
	if got, want := check.Block(10000), report.Block(append(why, lines...), 10000); got != want {
		t.Errorf("got\n%s", got)
	}
	check = Check{Status: Unchecked, Error: "no such host"}
	if got, want := check.Block(10000), report.Block([]string{"no such host"}, 10000); got != want || check.Headline() != "could not be checked for drift" {
		t.Errorf("%s:\n%s", check.Headline(), got)
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
