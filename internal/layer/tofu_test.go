package layer_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// Progress shows an action's name even if a credential has the same text, and a state from an event
// is kept.
func TestEvent(t *testing.T) {
	r, _, stderr := testkit.Quiet(t, run.Command{Name: "apply"})
	r.Mask.Add("create", "main", "prod")
	l := &layer.Layer{Run: r, Name: "prod"}
	l.Event(tofu.Event{Type: tofu.ApplyStart, Hook: tofu.Hook{Action: "create", Resource: tofu.Resource{Address: "x.main"}}})
	l.Event(tofu.Event{Type: "log", State: json.RawMessage(`{"serial":1}`)})
	l.Event(tofu.Event{Type: "log"})
	if got := stderr.String(); got != "prod: x.main create …\n" || string(l.Dumped) != `{"serial":1}` {
		t.Errorf("it says %q and keeps %s", got, l.Dumped)
	}
}

// What tofu says of the state itself has neither an address nor a place, and says so.
func TestOfState(t *testing.T) {
	for _, c := range []struct {
		d    tofu.Diagnostic
		want bool
	}{
		{tofu.Diagnostic{Summary: "Failed to save state"}, true},
		{tofu.Diagnostic{Summary: "Error acquiring the State lock"}, true},
		{tofu.Diagnostic{Summary: "Invalid encryption configuration"}, true},
		{tofu.Diagnostic{Summary: "Unable to decrypt"}, true},
		{tofu.Diagnostic{Summary: "Provider produced an error", Detail: "of the state"}, false},
		{tofu.Diagnostic{Summary: "Failed to save state", Address: "a.b"}, false},
		{at(3, tofu.Diagnostic{Summary: "Failed to save state"}), false},
		{at(3, tofu.Diagnostic{Summary: "Unable to decrypt", Address: "a.b"}), false},
	} {
		if got := layer.OfState(c.d); got != c.want {
			t.Errorf("%+v: %v", c.d, got)
		}
	}
}

// Only an error is a complaint of the state, and one of a resource is not.
func TestComplainsOfState(t *testing.T) {
	for name, c := range map[string]struct {
		diagnostics []tofu.Diagnostic
		want        bool
	}{
		"nothing":   {nil, false},
		"an error":  {[]tofu.Diagnostic{{Severity: "error", Summary: "No wood"}, {Severity: "error", Summary: "Failed to save state"}}, true},
		"a warning": {[]tofu.Diagnostic{{Severity: "warning", Summary: "Old state"}}, false},
		"another":   {[]tofu.Diagnostic{{Severity: "error", Summary: "No wood"}}, false},
	} {
		if got := (&layer.Layer{Diagnostics: c.diagnostics}).ComplainsOfState(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What tofu says of a failure is shown where all secrets are known that it may hold, and
// else only what it says of the state.
func TestFailed(t *testing.T) {
	testkit.WithoutTofu(t)
	const dropped = "test: tofu's message is not shown because it may contain secrets: "
	warning := tofu.Diagnostic{Severity: "warning", Summary: "Old wood"}
	failure := tofu.Diagnostic{Severity: "error", Summary: "No wood", Detail: "Chop some."}
	ofState := tofu.Diagnostic{Severity: "error", Summary: "Failed to save state"}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx         context.Context
		command     string
		err         error
		unwritten   bool
		diagnostics []tofu.Diagnostic
		noise       string
		complaints  string
		want        string
	}{
		"of init": {command: "init", diagnostics: []tofu.Diagnostic{warning, failure}, noise: "\n╷ x\x1b[0m\n",
			complaints: "test: error: No wood\n  Chop some.\ntest: ╷ x[0m\n", want: "tofu init of test failed"},
		"of init, with nothing": {command: "init", want: "tofu init of test failed"},
		"of init that was not":  {command: "init", err: errors.New("run tofu init"), want: "run tofu init"},
		"of init, stopped":      {ctx: stopped, command: "init", err: errors.New("run tofu init"), want: "tofu init of test was stopped"},
		"in doubt": {command: "apply", unwritten: true, diagnostics: []tofu.Diagnostic{warning, failure, ofState}, noise: "canary",
			complaints: "test: error: dropped\ntest: error: Failed to save state\n" + dropped + "the state of this run could not be written, and its sensitive values are not known\n", want: "tofu apply of test failed"},
		"in doubt, of the state only": {command: "apply", unwritten: true, diagnostics: []tofu.Diagnostic{warning, ofState},
			complaints: "test: error: Failed to save state\n", want: "tofu apply of test failed"},
		"in doubt, with nothing": {command: "apply", unwritten: true, want: "tofu apply of test failed"},
		"stopped": {ctx: stopped, command: "apply", noise: "canary",
			complaints: dropped + "the run was stopped before the sensitive values of the state could be read\n", want: "tofu apply of test was stopped"},
		"with no state to read": {command: "plan", noise: "canary",
			complaints: dropped + "the state could not be read, and its sensitive values are not known\n", want: "tofu plan of test failed"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := testkit.Quiet(t, run.Command{Name: "apply"})
			l := &layer.Layer{Run: r, Name: "test", Unwritten: c.unwritten, Diagnostics: c.diagnostics}
			_, _ = l.Printed.Write([]byte(c.noise))
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			if err := l.Failed(c.ctx, c.command, c.err); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if got := r.Complaints.String(); got != c.complaints {
				t.Errorf("it complains %q, want %q", got, c.complaints)
			}
			if l.Printed.String() != "" {
				t.Error("the next command says it again")
			}
		})
	}
}

// An unreadable state stops init before tofu reads it, and a tofu that cannot be started makes
// every command fail.
func TestWithoutTofu(t *testing.T) {
	testkit.WithoutTofu(t)
	d := testkit.New(t)
	d.Environment.State.S3 = &environment.S3{Bucket: "state"}
	_, listed := d.Outputs(t.Context())
	for command, err := range map[string]error{"init": d.Init(t.Context()), "learn": d.Learn(t.Context()), "output": listed} {
		if !errors.Is(err, tofu.ErrNotStarted) {
			t.Errorf("%s: %v", command, err)
		}
	}
	d.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if err := d.Init(t.Context()); err == nil || errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("with a state that cannot be read: %v", err)
	}
	d.Fault = nil
	must.Do(t, os.WriteFile(filepath.Join(d.Dir, "file"), nil, 0o600))
	d.Dir = filepath.Join(d.Dir, "file")
	if err := d.Init(t.Context()); err == nil || errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("with an unreadable lock file: %v", err)
	}
}

func at(line int, d tofu.Diagnostic) tofu.Diagnostic {
	e, _ := tofu.ReadEvent([]byte(`{"type":"diagnostic","diagnostic":{"range":{"filename":"main.tf"}}}`))
	d.Range = e.Diagnostic.Range
	d.Range.Start.Line = line
	return d
}
