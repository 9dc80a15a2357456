package plan

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// What is marked in a plan is found, and what is not marked is left alone.
func TestSensitive(t *testing.T) {
	data, err := os.ReadFile("testdata/changes.json")
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(got, "canary-variable") {
		t.Errorf("the sensitive variable is not among %q", got)
	}
	if slices.Contains(got, "canary-same") {
		t.Errorf("a value that is not marked is among %q", got)
	}
}

func TestMarked(t *testing.T) {
	value := map[string]any{"a": "one", "b": []any{"two", "three"}, "c": map[string]any{"d": 4.0}, "e": nil}
	mark := map[string]any{"b": []any{false, true}, "c": true}
	got := marked(value, mark)
	slices.Sort(got)
	if want := []string{"4", "three"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
