package layer_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// What is done on each root begins only where the environment can be opened, its roots are
// ready and connected.
func TestEach(t *testing.T) {
	testkit.WithoutTofu(t)
	never := func(*layer.Layer) error { t.Error("it begins"); return nil }
	proved := `{"version":1,"environment":"test","proof":"` + testkit.FastProof("test", testkit.Passphrase) + `"}`
	v := testkit.NewVault(t)
	must.Refuse(t, v.Open(t.Context()), "has not been prepared", "")
	if len(v.Result.Timings) != 1 || v.Result.Timings[0].Step != "open" {
		t.Errorf("%+v", v.Result.Timings)
	}
	v.Marker = proved
	must.Do(t, v.Open(t.Context()))
	if err := layer.Each(t.Context(), v.Run, never); !errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("got %v", err)
	}
	v = testkit.NewVault(t)
	v.Marker = proved
	must.Do(t, v.Open(t.Context()))
	v.Write("environments/test/main.tf", `data "external" "x" { program = ["id"] }`)
	must.Refuse(t, layer.Each(t.Context(), v.Run, never), "runs a program", "")
}

// Credentials that no tool reads are named, in case of a misspelt variable.
func TestNoteUnused(t *testing.T) {
	for variable, note := range map[string]string{"TF_VAR_size": "", "SIZE": "note: SIZE not passed to tofu: no known provider reads them\n"} {
		v := testkit.NewVault(t)
		v.Marker = `{"version":1,"environment":"test","proof":"` + testkit.FastProof("test", testkit.Passphrase) + `"}`
		v.With(variable, "large-for-tests")
		must.Do(t, v.Open(t.Context()))
		_, err := layer.All(v.Run)
		must.Do(t, err)
		if got := v.Progress.String(); !strings.HasSuffix(got, note) || note == "" && strings.Contains(got, "not passed") {
			t.Errorf("%s: it says %q", variable, got)
		}
	}
}

// tofu gets the state's location, and must not change an existing lock file.
func TestSettings(t *testing.T) {
	d := testkit.New(t)
	d.Environment.State.S3 = &environment.S3{Bucket: "state"}
	config, err := d.Settings()
	if err != nil || config.ReadOnly || config.Backend["bucket"] != "state" || config.Backend["key"] != testkit.Key {
		t.Errorf("%+v, %v", config, err)
	}
	must.Do(t, os.WriteFile(d.LockFile(), nil, 0o600))
	d.Store = nil
	d.Environment.State = environment.State{HTTP: &environment.HTTP{Address: "https://state.example.org"}}
	config, err = d.Settings()
	if err != nil || !config.ReadOnly || !strings.HasPrefix(config.Backend["address"], "https://state.example.org/") {
		t.Errorf("%+v, %v", config, err)
	}
	d.Dir = d.LockFile()
	if config, err := d.Settings(); err == nil {
		t.Errorf("an unreadable lock file: %+v", config)
	}
}

// newLayers is a vault whose environment has the layers net and app, and that has loaded
// them.
func newLayers(t *testing.T, variables map[string]string) *testkit.Vault {
	t.Helper()
	v := testkit.NewVault(t)
	v.Describe("credentials: [test]", "layers: [{path: net}, {path: app}]", v.InBucket())
	v.Write("environments/test/net/main.tf", "")
	v.Write("environments/test/app/main.tf", "")
	all := testkit.VaultVariables()
	for variable, value := range variables {
		all[variable] = value
	}
	v.Seal(testkit.VaultFile, all)
	must.Do(t, v.OpenCredentials())
	return v
}

// The chosen layers are made ready in their order: each in its folder of the copy, with its
// state, its variables and its row of the result.
func TestRoots(t *testing.T) {
	for only, want := range map[string][]string{"": {"net", "app"}, "app": {"app"}} {
		v := newLayers(t, map[string]string{"OS_PASSWORD": "of-the-cloud-3", "ANSIBLE_PASSWORD": "of-another-4", "SMTP_PASSWORD": "of-another-5"})
		v.OnlyLayer = only
		roots, err := layer.All(v.Run)
		must.Do(t, err)
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
		if got := v.Progress.String(); !strings.Contains(got, "note: ANSIBLE_PASSWORD, SMTP_PASSWORD not passed to tofu: no known provider reads them\n") {
			t.Errorf("it says %q", got)
		}
	}
	v := newLayers(t, nil)
	_, err := layer.All(v.Run)
	must.Do(t, err)
	if got := v.Progress.String(); strings.Contains(got, "is not given") {
		t.Errorf("it says %q", got)
	}
}

// No layer is made ready whose code would run a program, nor without what seals its state,
// nor with a proxy that tells a password.
func TestRootsRefuses(t *testing.T) {
	v := newLayers(t, nil)
	v.Write("environments/test/app/main.tf", `data "external" "x" { program = ["id"] }`)
	_, err := layer.All(v.Run)
	must.Refuse(t, err, `data "external" runs a program, and environment test does not allow it`, "")
	v = newLayers(t, map[string]string{state.Passphrase: "weak"})
	_, err = layer.All(v.Run)
	must.Refuse(t, err, "STATE_PASSPHRASE has 4 characters", "")
	v = newLayers(t, map[string]string{"HTTP_PROXY": "http://me:canary@proxy.example.org"})
	_, err = layer.All(v.Run)
	must.Refuse(t, err, "HTTP_PROXY sends a password", "")
}

// The command names the layer only where there are several, and if it takes one.
func TestCommand(t *testing.T) {
	r := &run.Run{Options: run.Options{Env: "test"}}
	for layers, want := range map[int]string{1: "dagger call recover --env=test", 2: "dagger call recover --env=test --layer=net"} {
		r.Environment = &environment.Environment{Layers: make([]environment.Layer, layers)}
		l := &layer.Layer{Run: r, Name: "net", Config: environment.Layer{Path: "net"}}
		if got := l.Call("recover"); got != want {
			t.Errorf("%d layers: %s", layers, got)
		}
		r.Result.Stage = "up"
		if got := l.Call("up"); got != "dagger call up --env=test" {
			t.Errorf("%d layers: %s", layers, got)
		}
	}
}
