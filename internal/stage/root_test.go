package stage

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

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
		if got := OfState(c.d); got != c.want {
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
		if got := (&Layer{Diagnostics: c.diagnostics}).ComplainsOfState(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What tofu says of a failure is shown where all secrets are known that it may hold, and
// else only what it says of the state.
func TestFailed(t *testing.T) {
	WithoutTofu(t)
	const dropped = "test: tofu's own words are dropped because they may hold secrets: "
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
			r, _, _ := Quiet(t, Command{Name: "apply"})
			l := &Layer{Run: r, Name: "test", Unwritten: c.unwritten, Diagnostics: c.diagnostics}
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
				t.Error("the next command says it once more")
			}
		})
	}
}

// Tofu is told where the state is, and to leave a lock file alone that is there.
func TestSettings(t *testing.T) {
	d := New(t)
	d.Environment.State.S3 = &environment.S3{Bucket: "state"}
	config, err := d.Settings()
	if err != nil || config.ReadOnly || config.Backend["bucket"] != "state" || config.Backend["key"] != Key {
		t.Errorf("%+v, %v", config, err)
	}
	Do(t, os.WriteFile(d.LockFile(), nil, 0o600))
	d.Store = nil
	d.Environment.State = environment.State{HTTP: &environment.HTTP{Address: "https://state.example.org"}}
	config, err = d.Settings()
	if err != nil || !config.ReadOnly || !strings.HasPrefix(config.Backend["address"], "https://state.example.org/") {
		t.Errorf("%+v, %v", config, err)
	}
	d.Dir = d.LockFile()
	if config, err := d.Settings(); err == nil {
		t.Errorf("a lock file that cannot be looked at: %+v", config)
	}
}

// A state that cannot be read stops init before tofu looks at it, and a tofu that cannot
// be started is no success of any command.
func TestWithoutTofu(t *testing.T) {
	WithoutTofu(t)
	d := New(t)
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
	Do(t, os.WriteFile(filepath.Join(d.Dir, "file"), nil, 0o600))
	d.Dir = filepath.Join(d.Dir, "file")
	if err := d.Init(t.Context()); err == nil || errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("with a lock file that cannot be looked at: %v", err)
	}
}

// newLayers is a vault whose environment has the layers net and app, and that has loaded
// them.
func newLayers(t *testing.T, variables map[string]string) *Vault {
	t.Helper()
	v := NewVault(t)
	v.Describe("credentials: [test]", "layers: [{path: net}, {path: app}]", v.InBucket())
	v.Write("environments/test/net/main.tf", "")
	v.Write("environments/test/app/main.tf", "")
	all := VaultVariables()
	for variable, value := range variables {
		all[variable] = value
	}
	v.Seal(VaultFile, all)
	Do(t, v.OpenCredentials())
	return v
}

// The chosen layers are made ready in their order: each in its folder of the copy, with its
// state, its variables and its row of the result.
func TestRoots(t *testing.T) {
	for layer, want := range map[string][]string{"": {"net", "app"}, "app": {"app"}} {
		v := newLayers(t, map[string]string{"OS_PASSWORD": "of-the-cloud-3", "ANSIBLE_PASSWORD": "of-another-4", "SMTP_PASSWORD": "of-another-5"})
		v.OnlyLayer = layer
		roots, err := All(v.Run)
		Do(t, err)
		var names, rows []string
		for _, l := range roots {
			names = append(names, l.Name)
			if l.Key != "test/"+l.Name+".tfstate" || l.Dir != v.Path("repository/environments/test", l.Name) || l.Config.Path != l.Name {
				t.Errorf("%s: %q, %q, %+v", l.Name, l.Key, l.Dir, l.Config)
			}
			if l.Tool.Dir != l.Dir || !slices.Contains(l.Tool.Env, "OS_PASSWORD=of-the-cloud-3") || l.Tool.Stderr != &l.Printed {
				t.Errorf("%s: %+v", l.Name, l.Tool)
			}
			if _, err := os.Stat(filepath.Join(l.Dir, "main.tf")); err != nil {
				t.Error(err)
			}
		}
		for _, row := range v.Result.Layers {
			rows = append(rows, row.Name)
		}
		if !slices.Equal(names, want) || !slices.Equal(rows, want) {
			t.Errorf("%q, %q", names, rows)
		}
		if got := v.Progress.String(); !strings.Contains(got, "note: tofu is not given ANSIBLE_PASSWORD, SMTP_PASSWORD: no provider is known to read them\n") {
			t.Errorf("it says %q", got)
		}
	}
	v := newLayers(t, nil)
	_, err := All(v.Run)
	Do(t, err)
	if got := v.Progress.String(); strings.Contains(got, "is not given") {
		t.Errorf("it says %q", got)
	}
}

// No layer is made ready whose code would run a program, nor without what seals its state,
// nor with a proxy that tells a password.
func TestRootsRefuses(t *testing.T) {
	v := newLayers(t, nil)
	v.Write("environments/test/app/main.tf", `data "external" "x" { program = ["id"] }`)
	_, err := All(v.Run)
	Refuse(t, err, `data "external" runs a program, and environment test does not allow it`, "")
	v = newLayers(t, map[string]string{state.Passphrase: "weak"})
	_, err = All(v.Run)
	Refuse(t, err, "STATE_PASSPHRASE has 4 characters", "")
	v = newLayers(t, map[string]string{"HTTP_PROXY": "http://me:canary@proxy.example.org"})
	_, err = All(v.Run)
	Refuse(t, err, "HTTP_PROXY sends a password", "")
}

func at(line int, d tofu.Diagnostic) tofu.Diagnostic {
	e, _ := tofu.ReadEvent([]byte(`{"type":"diagnostic","diagnostic":{"range":{"filename":"main.tf"}}}`))
	d.Range = e.Diagnostic.Range
	d.Range.Start.Line = line
	return d
}
