package sealedplan

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway/internal/layer"
	"slipway/internal/manifest"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/workspace"
)

// A planDesk has a plan that is kept for its files.
type planDesk struct {
	*testkit.Desk
	source Source
	sealer Sealer
}

func newPlanDesk(t *testing.T) *planDesk {
	t.Helper()
	return &planDesk{Desk: testkit.New(t)}
}

// withPlan keeps a plan, as change makes it.
func (d *planDesk) withPlan(change func(m *manifest.Manifest, sealed *[]byte)) {
	d.T.Helper()
	d.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
	d.Inputs = "sha256:" + strings.Repeat("a", 64)
	d.source.Programs = func() (map[string]string, error) { return map[string]string{"tofu": "sha256:1"}, nil }
	sealed := []byte("sealed plan")
	now := time.Now().UTC()
	m := manifest.Manifest{
		RunID: "planner", Environment: "test", Layer: "test", Created: now, Expires: now.Add(time.Hour), Changes: true, Losses: []string{"a.b"},
		Bindings: manifest.Bindings{Inputs: d.Inputs, Tools: map[string]string{"tofu": "sha256:1"}, Upstream: map[string]state.Stamp{}, LockFile: "sha256:lock"},
	}
	m.Plan = manifest.Digest(sealed)
	if change != nil {
		change(&m, &sealed)
	}
	data, err := manifest.Seal(m, testkit.Passphrase)
	must.Do(d.T, err)
	must.Do(d.T, d.Store.Write(d.T.Context(), ofLayer(d.Layer).kept()+manifestName, data))
	if sealed != nil {
		must.Do(d.T, d.Store.Write(d.T.Context(), ofLayer(d.Layer).kept()+planName, sealed))
	}
}

// A plan is only applied unchanged: everything to which it is bound is checked.
func TestVerify(t *testing.T) {
	for name, c := range map[string]struct {
		plan    func(m *manifest.Manifest, sealed *[]byte)
		before  func(d *planDesk)
		message string // empty: it holds
	}{
		"as it was made":       {},
		"of a later layer":     {plan: func(m *manifest.Manifest, sealed *[]byte) { m.After, m.Plan, *sealed = "net", "", nil }},
		"none":                 {before: func(d *planDesk) { must.Do(d.T, d.Store.Remove(d.T.Context(), ofLayer(d.Layer).kept()+manifestName)) }, message: "there is no plan of test in bucket state"},
		"of other environment": {plan: func(m *manifest.Manifest, _ *[]byte) { m.Environment = "prod" }, message: "the plan is for environment prod"},
		"of another layer":     {plan: func(m *manifest.Manifest, _ *[]byte) { m.Layer = "net" }, message: "the plan is for layer net, not test"},
		"expired":              {plan: func(m *manifest.Manifest, _ *[]byte) { m.Expires = time.Now().Add(-time.Second) }, message: "expired at"},
		"with another plan":    {plan: func(_ *manifest.Manifest, sealed *[]byte) { *sealed = []byte("other") }, message: "does not match its manifest"},
		"without its plan":     {plan: func(_ *manifest.Manifest, sealed *[]byte) { *sealed = nil }, message: "does not match its manifest"},
		"of another tool": {before: func(d *planDesk) {
			d.source.Programs = func() (map[string]string, error) { return map[string]string{"tofu": "sha256:2"}, nil }
		}, message: "since the plan of test was made, the program tofu has changed"},
		"of an older state": {before: func(d *planDesk) {
			must.Do(d.T, d.Store.Write(d.T.Context(), d.Key, []byte(`{"serial":9,"lineage":"line","encrypted_data":"x"}`)))
		}, message: "since the plan of test was made, the state"},
		"by another passphrase": {before: func(d *planDesk) { d.Credentials[state.Passphrase] = "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4" }, message: "the plan of test: "},
		"by the previous passphrase": {before: func(d *planDesk) {
			d.Credentials = map[string]string{state.Passphrase: "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4", state.PreviousPassphrase: testkit.Passphrase}
		}},
		"that was applied": {before: func(d *planDesk) {
			must.Do(d.T, d.Store.Write(d.T.Context(), ofLayer(d.Layer).claimKey(manifest.Manifest{RunID: "planner"}), []byte("run7")))
		}, message: `was already started by run "run7"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPlanDesk(t)
			d.withPlan(c.plan)
			if c.before != nil {
				c.before(d)
			}
			p, err := d.source.verify(t.Context(), d.Layer)
			if c.message != "" {
				must.Refuse(t, err, c.message, "dagger call plan --env=test --keep")
				return
			}
			must.Do(t, err)
			if p.RunID != "planner" || len(p.data) == 0 || p.After == "" && string(p.sealed) != "sealed plan" {
				t.Errorf("%+v", p)
			}
		})
	}
}

// A store that fails is no proof that there is no plan, or that it was not applied.
func TestVerifyFails(t *testing.T) {
	for _, part := range []string{manifestName, planName, ".applied", "/test.tfstate"} {
		d := newPlanDesk(t)
		d.withPlan(nil)
		d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, part) {
				w.WriteHeader(http.StatusForbidden)
				return true
			}
			return false
		}
		if _, err := d.source.verify(t.Context(), d.Layer); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// A plan out of a folder is refused when a newer one of the same files is kept.
func TestVerifyFolder(t *testing.T) {
	for name, c := range map[string]struct {
		kept    time.Duration // age of the one in the bucket against that in the folder
		message string
	}{
		"the newer one": {kept: -time.Minute},
		"an older one":  {kept: time.Minute, message: "was replaced by the plan of run planner"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPlanDesk(t)
			created := time.Now().UTC()
			d.withPlan(func(m *manifest.Manifest, _ *[]byte) { m.Created = created.Add(c.kept) })
			d.source.Folder = t.TempDir()
			folder := filepath.Join(d.source.Folder, "plan", "test")
			must.Do(t, os.MkdirAll(folder, 0o755))
			if _, err := d.source.verify(t.Context(), d.Layer); err == nil {
				t.Error("there is none in the folder yet")
			} else {
				must.Refuse(t, err, "there is no plan of test in the folder given with --plan", "dagger call plan-files --env=test export --path=.slipway/plan")
			}
			data, err := d.Store.Read(t.Context(), ofLayer(d.Layer).kept()+manifestName)
			must.Do(t, err)
			m, err := manifest.Open(data, testkit.Passphrase, "")
			must.Do(t, err)
			m.RunID, m.Created = "folder", created
			data, err = manifest.Seal(m, testkit.Passphrase)
			must.Do(t, err)
			must.Do(t, os.WriteFile(filepath.Join(folder, manifestName), data, 0o600))
			must.Do(t, os.WriteFile(filepath.Join(folder, planName), []byte("sealed plan"), 0o600))
			_, err = d.source.verify(t.Context(), d.Layer)
			if c.message != "" {
				must.Refuse(t, err, c.message, "plan-files")
			} else {
				must.Do(t, err)
			}
		})
	}
}

// A plan out of a folder that has not all of it is refused; one that was kept in another form,
// or by the same run, replaces nothing.
func TestVerifyFolderAlone(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(d *planDesk, m *manifest.Manifest)
		message string
	}{
		"whole": {change: func(*planDesk, *manifest.Manifest) {}},
		"without the plan itself": {change: func(d *planDesk, _ *manifest.Manifest) {
			must.Do(t, os.Remove(filepath.Join(d.source.Folder, "plan", "test", planName)))
		}, message: "does not match its manifest"},
		"beside one that cannot be read": {change: func(d *planDesk, _ *manifest.Manifest) {
			must.Do(t, d.Store.Write(t.Context(), ofLayer(d.Layer).kept()+manifestName, []byte("x")))
		}},
		"beside a later one of its run": {change: func(d *planDesk, m *manifest.Manifest) {
			m.Created = m.Created.Add(time.Minute)
			data, err := manifest.Seal(*m, testkit.Passphrase)
			must.Do(t, err)
			must.Do(t, d.Store.Write(t.Context(), ofLayer(d.Layer).kept()+manifestName, data))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newPlanDesk(t)
			d.withPlan(nil)
			d.source.Folder = t.TempDir()
			folder := filepath.Join(d.source.Folder, "plan", "test")
			must.Do(t, os.MkdirAll(folder, 0o755))
			for _, file := range []string{manifestName, planName} {
				data, err := d.Store.Read(t.Context(), ofLayer(d.Layer).kept()+file)
				must.Do(t, err)
				must.Do(t, os.WriteFile(filepath.Join(folder, file), data, 0o600))
			}
			data, err := os.ReadFile(filepath.Join(folder, manifestName))
			must.Do(t, err)
			m, err := manifest.Open(data, testkit.Passphrase)
			must.Do(t, err)
			c.change(d, &m)
			if _, err := d.source.verify(t.Context(), d.Layer); c.message != "" {
				must.Refuse(t, err, c.message, "dagger call plan-files")
			} else {
				must.Do(t, err)
			}
		})
	}
}

// The plan is that of the digest which was reviewed, or any.
func TestFind(t *testing.T) {
	d := newPlanDesk(t)
	d.withPlan(nil)
	found, err := d.source.Find(t.Context(), d.Run, []*layer.Layer{d.Layer}, nil)
	must.Do(t, err)
	if len(found.Layers) != 1 || found.Layers[0].RunID != "planner" || found.Digest != manifest.PlanDigest("test", []manifest.Part{{Layer: "test", Data: found.Layers[0].data}}) {
		t.Errorf("got %+v", found)
	}
	d.source.Digest = found.Digest
	_, err = d.source.Find(t.Context(), d.Run, []*layer.Layer{d.Layer}, nil)
	must.Do(t, err)
	d.source.Digest = "sha256:" + strings.Repeat("1", 64)
	_, err = d.source.Find(t.Context(), d.Run, []*layer.Layer{d.Layer}, nil)
	must.Refuse(t, err, "the plan of test, made by run planner at ", "dagger call plan --env=test --keep")
	testkit.WithoutTofu(t)
	d.source.Programs = nil
	_, err = d.source.Find(t.Context(), d.Run, []*layer.Layer{d.Layer}, nil)
	must.Fail(t, err, `exec: "tofu"`)
}

// What is no digest is refused before anything is read.
func TestCheckDigest(t *testing.T) {
	d := newPlanDesk(t)
	for digest, want := range map[string]string{"": "", "sha256:" + strings.Repeat("a", 64): "", "sha256:a": `--digest is "sha256:a", which is not the digest of a plan`} {
		if err := (&Source{Digest: digest}).CheckDigest(d.Run); want != "" {
			must.Refuse(t, err, want, "dagger call plan --env=test --keep")
		} else {
			must.Do(t, err)
		}
	}
}

// A plan is applied by one run. One that did not start releases it.
func TestClaim(t *testing.T) {
	d := newPlanDesk(t)
	p := Plan{Manifest: manifest.Manifest{RunID: "planner", Layer: "test"}}
	release, err := d.source.Claim(t.Context(), d.Layer, p)
	must.Do(t, err)
	d.ID = "second"
	_, err = d.source.Claim(t.Context(), d.Layer, p)
	must.Refuse(t, err, `the plan of test is being applied by run "me"`, "dagger call plan --env=test --keep")
	must.Do(t, release(t.Context()))
	release, err = d.source.Claim(t.Context(), d.Layer, p)
	must.Do(t, err)
	must.Do(t, release(t.Context()))
	d.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if _, err := d.source.Claim(t.Context(), d.Layer, p); err == nil {
		t.Error("a store that refuses gives the plan away")
	}
	d.Store = nil
	release, err = d.source.Claim(t.Context(), d.Layer, p)
	must.Do(t, err)
	must.Do(t, release(t.Context()))
}

// What a plan deletes is what was reviewed.
func TestRefuseLosses(t *testing.T) {
	d := newPlanDesk(t)
	p := Plan{Manifest: manifest.Manifest{Losses: []string{"a.b"}}}
	must.Do(t, d.source.RefuseLosses(d.Layer, p, plan.Summary{Changes: []plan.Change{{Address: "a.b", Action: plan.Delete}}}))
	must.Refuse(t, d.source.RefuseLosses(d.Layer, p, plan.Summary{}), "the plan of test deletes, replaces or forgets other resources", "dagger call plan --env=test --keep")
}

// A plan is applied with the very lock file that it was made with.
func TestRefuseLockFile(t *testing.T) {
	d := planning(t)
	m := manifest.Manifest{Bindings: manifest.Bindings{LockFile: manifest.Digest([]byte("locks"))}}
	must.Do(t, d.source.RefuseLockFile(d.Layer, Plan{Manifest: m}))
	must.Do(t, os.WriteFile(d.LockFile(), []byte("others"), 0o600))
	must.Refuse(t, d.source.RefuseLockFile(d.Layer, Plan{Manifest: m}), "since the plan of test was made, the provider lock file has changed", "dagger call plan --env=test --keep")
	must.Do(t, os.Remove(d.LockFile()))
	must.Refuse(t, d.source.RefuseLockFile(d.Layer, Plan{Manifest: m}), "the provider lock file has changed", "")
	must.Do(t, d.source.RefuseLockFile(d.Layer, Plan{}))
	must.Do(t, os.Mkdir(d.LockFile(), 0o700))
	if err := d.source.RefuseLockFile(d.Layer, Plan{Manifest: m}); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v", err)
	}
}

// What tofu is given is the plan that was sealed.
func TestUnseal(t *testing.T) {
	d := planning(t)
	sealed, err := secrets.Envelope([]byte("another plan"), d.Recipients)
	must.Do(t, err)
	must.Refuse(t, d.source.Unseal(d.Layer, Plan{Manifest: manifest.Manifest{Layer: "test"}, sealed: []byte("x")}), "the plan of test cannot be decrypted: ", "dagger call plan --env=test --keep")
	must.Do(t, d.source.Unseal(d.Layer, Plan{sealed: sealed}))
	if data, err := workspace.Folder(d.Run).Read(workspace.Inside(d.Run, d.PlanFile())); err != nil || string(data) != "another plan" {
		t.Errorf("%q, %v", data, err)
	}
	must.Do(t, os.RemoveAll(d.Path("plans")))
	if err := d.source.Unseal(d.Layer, Plan{sealed: sealed}); err == nil {
		t.Error("it is nowhere")
	}
}

// The command that makes a new plan has what this one had.
func TestPlanCommand(t *testing.T) {
	for want, c := range map[string]struct{ layer, folder string }{
		"dagger call plan --env=test --keep":                                        {},
		"dagger call plan --env=test --layer=net --keep":                            {layer: "net"},
		"dagger call plan-files --env=test --layer=net export --path=.slipway/plan": {layer: "net", folder: "/plan"},
	} {
		r := &run.Run{Options: run.Options{Env: "test", OnlyLayer: c.layer}}
		if got := (&Source{Folder: c.folder}).PlanCommand(r); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A hint repeats the options of the command.
func TestOptions(t *testing.T) {
	for want, c := range map[string]struct{ layer, folder string }{
		"":                                       {},
		" --layer=test/net":                      {layer: "test/net"},
		" --plan=.slipway/plan":                  {folder: "/plan"},
		" --layer=test/net --plan=.slipway/plan": {layer: "test/net", folder: "/plan"},
	} {
		r := &run.Run{Options: run.Options{Env: "test", OnlyLayer: c.layer}}
		if got := (&Source{Folder: c.folder}).Options(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
