package stage

import (
	"errors"
	"testing"

	"slipway/internal/tofu"
)

// Each address has its line, and a state without any says so.
func TestShowAddresses(t *testing.T) {
	for list, want := range map[string]string{
		"":                  "test: nothing\n",
		"a.b":               "test: a.b\n",
		"a.b\nc.d[\"x\"]\n": "test: a.b\ntest: c.d[\"x\"]\n",
		"a.b\x1b[31m\n":     "test: a.b[31m\n",
	} {
		r, _, _ := Quiet(t, Command{Name: "state-list"})
		showAddresses((&Layer{Run: r, Name: "test"}), []byte(list))
		if got := r.Report.Masked(func(text string) string { return text }); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A state that was never written has nothing in it, though tofu calls that an error.
func TestListNoState(t *testing.T) {
	WithoutTofu(t)
	d := New(t)
	_, _ = d.Printed.Write([]byte("Error: No state file was found!\n"))
	Do(t, listState(t.Context(), d.Layer))
	d.Says("test: nothing\n")
}

// Of the outputs the redactor knows those that are sensitive.
func TestReadOutputs(t *testing.T) {
	r, _, _ := Quiet(t, Command{Name: "output"})
	l := &Layer{Run: r, Name: "test"}
	outputs, err := l.ReadOutputs([]byte(`{"address": {"sensitive": false, "value": "open-canary-1"}, "password": {"sensitive": true, "value": "hidden-canary-2"}}`))
	if err != nil || len(outputs) != 2 || !outputs["password"].Sensitive || string(outputs["address"].Value) != `"open-canary-1"` {
		t.Errorf("%+v, %v", outputs, err)
	}
	if got := r.Mask.String("open-canary-1 hidden-canary-2"); got != "open-canary-1 ***" {
		t.Errorf("it is shown as %q", got)
	}
	if _, err := l.ReadOutputs([]byte("canary")); err == nil || err.Error() != "the outputs of test are not JSON of a version that is known here" {
		t.Errorf("of no JSON: %v", err)
	}
}

// What is done on each root begins only where the environment can be opened, its roots are
// ready and connected.
func TestEach(t *testing.T) {
	WithoutTofu(t)
	never := func(*Layer) error { t.Error("it begins"); return nil }
	proved := `{"version":1,"environment":"test","proof":"` + FastProof("test", Passphrase) + `"}`
	v := NewVault(t)
	Refuse(t, v.Open(t.Context()), "has not been prepared", "")
	if len(v.Result.Timings) != 1 || v.Result.Timings[0].Step != "open" {
		t.Errorf("%+v", v.Result.Timings)
	}
	v.Marker = proved
	Do(t, v.Open(t.Context()))
	if err := Each(t.Context(), v.Run, never); !errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("got %v", err)
	}
	v = NewVault(t)
	v.Marker = proved
	Do(t, v.Open(t.Context()))
	v.Write("environments/test/main.tf", `data "external" "x" { program = ["id"] }`)
	Refuse(t, Each(t.Context(), v.Run, never), "runs a program", "")
}
