package inspect

import (
	"testing"

	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
)

// Each address has its line, and a state without any says so.
func TestShowAddresses(t *testing.T) {
	for list, want := range map[string]string{
		"":                  "test: nothing\n",
		"a.b":               "test: a.b\n",
		"a.b\nc.d[\"x\"]\n": "test: a.b\ntest: c.d[\"x\"]\n",
		"a.b\x1b[31m\n":     "test: a.b[31m\n",
	} {
		r, _, _ := testkit.Quiet(t, run.Command{Name: "state-list"})
		showAddresses((&layer.Layer{Run: r, Name: "test"}), []byte(list))
		if got := r.Report.Masked(func(text string) string { return text }); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A state that was never written has nothing in it, though tofu calls that an error.
func TestListNoState(t *testing.T) {
	testkit.WithoutTofu(t)
	d := testkit.New(t)
	_, _ = d.Printed.Write([]byte("Error: No state file was found!\n"))
	must.Do(t, listState(t.Context(), d.Layer))
	d.Says("test: nothing\n")
}

// A list that could not be made is not an empty one.
func TestListStateFails(t *testing.T) {
	testkit.WithoutTofu(t)
	must.NotStarted(t, listState(t.Context(), testkit.New(t).Layer), "state")
}
