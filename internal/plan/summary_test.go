package plan

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// read reduces a plan that testdata/generate made with the real OpenTofu.
func read(t *testing.T, name string) Summary {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if name == "changes" && strings.Count(string(data), "canary") < 10 {
		t.Fatal("the plan holds no values whose absence would prove anything")
	}
	s, _, err := Read(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a plan job hands on holds no value, and comes back as it was.
func TestSummaryAsJSON(t *testing.T) {
	for _, name := range []string{"changes", "none"} {
		s := read(t, name)
		got, err := json.MarshalIndent(s, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(got), "canary") {
			t.Errorf("the summary %s holds a value", name)
		}
		golden := "testdata/" + name + ".summary"
		if *update {
			if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var back Summary
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, back); diff != "" {
			t.Errorf("%s is not what it was (-want +got):\n%s", name, diff)
		}
	}
}

func TestEmpty(t *testing.T) {
	if !read(t, "none").Empty() || read(t, "changes").Empty() {
		t.Error("a plan without changes must be empty, and one with changes not")
	}
	for name, c := range map[string]struct {
		summary Summary
		want    bool
	}{
		"nothing":        {Summary{}, true},
		"drift alone":    {Summary{Drift: []Drift{{Address: "a.b"}}}, true},
		"a change alone": {Summary{Changes: []Change{{Address: "a.b", Action: Move}}}, false},
		"an output":      {Summary{Outputs: []string{"x"}}, false},
		"both":           {Summary{Changes: []Change{{Address: "a.b", Action: Create}}, Outputs: []string{"x"}}, false},
	} {
		if got := c.summary.Empty(); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestLosses(t *testing.T) {
	s := Summary{Changes: []Change{
		{Address: "d", Action: Delete}, {Address: "r", Action: Replace}, {Address: "f", Action: Forget},
		{Address: "d", Action: Delete, Deposed: true}, {Address: "a", Action: Unknown},
		{Address: "c", Action: Create}, {Address: "u", Action: Update}, {Address: "i", Action: Import}, {Address: "m", Action: Move},
	}}
	if diff := cmp.Diff([]string{"a", "d", "f", "r"}, s.Losses()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.Count(Delete); got != 2 {
		t.Errorf("counted %d deletes, want 2", got)
	}
	if got := (Summary{}).Losses(); got != nil {
		t.Errorf("got %q of nothing", got)
	}
}

// What is created, including replacements.
func TestCreates(t *testing.T) {
	s := Summary{Changes: []Change{
		{Address: "d", Action: Delete}, {Address: "r", Action: Replace}, {Address: "f", Action: Forget}, {Address: "g", Action: Forget, Recreated: true},
		{Address: "a", Action: Unknown}, {Address: "c", Action: Create}, {Address: "u", Action: Update}, {Address: "i", Action: Import}, {Address: "m", Action: Move},
	}}
	if diff := cmp.Diff([]string{"r", "g", "c"}, s.Creates()); diff != "" {
		t.Errorf("creates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"r", "g"}, s.Replaces()); diff != "" {
		t.Errorf("replaces (-want +got):\n%s", diff)
	}
}

// What the plan leaves as it is, is not relevant to it.
func TestRelevant(t *testing.T) {
	s := Summary{Drift: []Drift{{Address: "a.b"}, {Address: "a.c", Answered: true}}, Outputs: []string{"x"}}
	if got := s.Relevant(); len(got.Drift) != 1 || got.Drift[0].Address != "a.c" || len(got.Outputs) != 1 || len(s.Drift) != 2 {
		t.Errorf("got %+v of %+v", got, s)
	}
}

// Two ways to write an empty value are not drift.
func TestEmptyIsNoDrift(t *testing.T) {
	const plan = `{"format_version": "1.2", "resource_drift": [
		{"address": "a.same", "mode": "managed", "type": "a", "name": "same", "change": {"actions": ["update"],
			"before": {"tags": null, "note": "", "list": null, "map": {}}, "after": {"tags": [], "note": null, "list": [], "map": null}}},
		{"address": "a.other", "mode": "managed", "type": "a", "name": "other", "change": {"actions": ["update"],
			"before": {"tags": null, "size": 1, "on": false}, "after": {"tags": ["x"], "size": 0, "on": null}}},
		{"address": "a.gone", "mode": "managed", "type": "a", "name": "gone", "change": {"actions": ["delete"], "before": {"tags": null}, "after": null}}
	]}`
	s, _, err := Read(strings.NewReader(plan))
	if err != nil {
		t.Fatal(err)
	}
	want := []Drift{{Address: "a.gone", Deleted: true}, {Address: "a.other", Attributes: []string{"on", "size", "tags"}}}
	if diff := cmp.Diff(want, s.Drift); diff != "" {
		t.Error(diff)
	}
}
