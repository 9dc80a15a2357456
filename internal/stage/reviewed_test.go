package stage

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/manifest"
	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

const deskPassphrase = "Vq3-7mBzT9xLw2KdRf8nHs4PcYj6"

// withPlan gives a desk a plan that is kept for its files, as change makes it.
func (d *desk) withPlan(change func(m *manifest.Manifest, sealed *[]byte)) {
	d.t.Helper()
	d.Credentials = map[string]string{state.Passphrase: deskPassphrase}
	d.Inputs = "sha256:" + strings.Repeat("a", 64)
	d.Tools = func() (map[string]string, error) { return map[string]string{"tofu": "sha256:1"}, nil }
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
	data, err := manifest.Seal(m, deskPassphrase)
	must(d.t, err)
	must(d.t, d.Store.Write(d.t.Context(), d.kept()+manifestName, data))
	if sealed != nil {
		must(d.t, d.Store.Write(d.t.Context(), d.kept()+planName, sealed))
	}
}

// A plan is applied only as it was made: each thing that it is bound to is looked at.
func TestVerify(t *testing.T) {
	for name, c := range map[string]struct {
		plan    func(m *manifest.Manifest, sealed *[]byte)
		before  func(d *desk)
		message string // empty: it holds
	}{
		"as it was made":       {},
		"of a later layer":     {plan: func(m *manifest.Manifest, sealed *[]byte) { m.After, m.Plan, *sealed = "net", "", nil }},
		"none":                 {before: func(d *desk) { must(d.t, d.Store.Remove(d.t.Context(), d.kept()+manifestName)) }, message: "there is no plan of test in bucket state"},
		"of other environment": {plan: func(m *manifest.Manifest, _ *[]byte) { m.Environment = "prod" }, message: "the plan is one of environment prod"},
		"of another layer":     {plan: func(m *manifest.Manifest, _ *[]byte) { m.Layer = "net" }, message: "the plan is one of layer net and not of test"},
		"expired":              {plan: func(m *manifest.Manifest, _ *[]byte) { m.Expires = time.Now().Add(-time.Second) }, message: "has expired"},
		"with another plan":    {plan: func(_ *manifest.Manifest, sealed *[]byte) { *sealed = []byte("other") }, message: "is not the one that its manifest was made for"},
		"without its plan":     {plan: func(_ *manifest.Manifest, sealed *[]byte) { *sealed = nil }, message: "is not the one that its manifest was made for"},
		"of another tool": {before: func(d *desk) {
			d.Tools = func() (map[string]string, error) { return map[string]string{"tofu": "sha256:2"}, nil }
		}, message: "since the plan of test was made, the program tofu has changed"},
		"of an older state": {before: func(d *desk) {
			must(d.t, d.Store.Write(d.t.Context(), d.Key, []byte(`{"serial":9,"lineage":"line","encrypted_data":"x"}`)))
		}, message: "since the plan of test was made, the state"},
		"by another passphrase": {before: func(d *desk) { d.Credentials[state.Passphrase] = "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4" }, message: "the plan of test: "},
		"by the previous passphrase": {before: func(d *desk) {
			d.Credentials = map[string]string{state.Passphrase: "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4", state.PreviousPassphrase: deskPassphrase}
		}},
		"that was applied": {before: func(d *desk) {
			must(d.t, d.Store.Write(d.t.Context(), d.ClaimKey(manifest.Manifest{RunID: "planner"}), []byte("run7")))
		}, message: `was applied already, or begun, by run "run7"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.withPlan(c.plan)
			if c.before != nil {
				c.before(d)
			}
			p, err := d.Verify(t.Context())
			if c.message != "" {
				refuses(t, err, c.message, "dagger call plan --env=test --keep")
				return
			}
			must(t, err)
			if p.RunID != "planner" || len(p.data) == 0 || p.After == "" && string(p.sealed) != "sealed plan" {
				t.Errorf("%+v", p)
			}
		})
	}
}

// A store that fails is no proof that there is no plan, or that it was not applied.
func TestVerifyFails(t *testing.T) {
	for _, part := range []string{manifestName, planName, ".applied", "/test.tfstate"} {
		d := newDesk(t)
		d.withPlan(nil)
		d.fault = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, part) {
				w.WriteHeader(http.StatusForbidden)
				return true
			}
			return false
		}
		if _, err := d.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "403") {
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
		"an older one":  {kept: time.Minute, message: "was replaced by that of run planner"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			created := time.Now().UTC()
			d.withPlan(func(m *manifest.Manifest, _ *[]byte) { m.Created = created.Add(c.kept) })
			d.PlanFolder = t.TempDir()
			folder := filepath.Join(d.PlanFolder, "plan", "test")
			must(t, os.MkdirAll(folder, 0o755))
			if _, err := d.Verify(t.Context()); err == nil {
				t.Error("there is none in the folder yet")
			} else {
				refuses(t, err, "there is no plan of test in the folder that --plan names", "dagger call plan-files --env=test export --path=.slipway/plan")
			}
			data, err := d.Store.Read(t.Context(), d.kept()+manifestName)
			must(t, err)
			m, err := manifest.Open(data, deskPassphrase, "")
			must(t, err)
			m.RunID, m.Created = "folder", created
			data, err = manifest.Seal(m, deskPassphrase)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(folder, manifestName), data, 0o600))
			must(t, os.WriteFile(filepath.Join(folder, planName), []byte("sealed plan"), 0o600))
			_, err = d.Verify(t.Context())
			if c.message != "" {
				refuses(t, err, c.message, "plan-files")
			} else {
				must(t, err)
			}
		})
	}
}

// An apply plans for itself only where nobody asks for a plan that was reviewed.
func TestWantsKept(t *testing.T) {
	for name, c := range map[string]struct {
		options   Options
		protected bool
		want      bool
	}{
		"plain":                        {},
		"told to":                      {options: Options{Reviewed: true}, want: true},
		"by digest":                    {options: Options{Digest: "sha256:1"}, want: true},
		"protected":                    {protected: true, want: true},
		"of a folder":                  {options: Options{PlanFolder: "/plan"}},
		"of a folder, by digest":       {options: Options{PlanFolder: "/plan", Digest: "sha256:1"}},
		"of a folder, protected":       {options: Options{PlanFolder: "/plan"}, protected: true},
		"of a folder, and told to":     {options: Options{PlanFolder: "/plan", Reviewed: true}, want: true},
		"protected, and by its digest": {options: Options{Digest: "sha256:1"}, protected: true, want: true},
	} {
		s := &Run{Options: c.options, Environment: &environment.Environment{Protected: c.protected}}
		if got := s.wantsKept(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A plan out of a folder that has not all of it is refused; one that was kept in another form,
// or by the same run, replaces nothing.
func TestVerifyFolderAlone(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(d *desk, m *manifest.Manifest)
		message string
	}{
		"whole": {change: func(*desk, *manifest.Manifest) {}},
		"without the plan itself": {change: func(d *desk, _ *manifest.Manifest) {
			must(t, os.Remove(filepath.Join(d.PlanFolder, "plan", "test", planName)))
		}, message: "is not the one that its manifest was made for"},
		"beside one that cannot be read": {change: func(d *desk, _ *manifest.Manifest) {
			must(t, d.Store.Write(t.Context(), d.kept()+manifestName, []byte("x")))
		}},
		"beside a later one of its run": {change: func(d *desk, m *manifest.Manifest) {
			m.Created = m.Created.Add(time.Minute)
			data, err := manifest.Seal(*m, deskPassphrase)
			must(t, err)
			must(t, d.Store.Write(t.Context(), d.kept()+manifestName, data))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.withPlan(nil)
			d.PlanFolder = t.TempDir()
			folder := filepath.Join(d.PlanFolder, "plan", "test")
			must(t, os.MkdirAll(folder, 0o755))
			for _, file := range []string{manifestName, planName} {
				data, err := d.Store.Read(t.Context(), d.kept()+file)
				must(t, err)
				must(t, os.WriteFile(filepath.Join(folder, file), data, 0o600))
			}
			data, err := os.ReadFile(filepath.Join(folder, manifestName))
			must(t, err)
			m, err := manifest.Open(data, deskPassphrase)
			must(t, err)
			c.change(d, &m)
			if _, err := d.Verify(t.Context()); c.message != "" {
				refuses(t, err, c.message, "dagger call plan-files")
			} else {
				must(t, err)
			}
		})
	}
}

// Before the first tool starts, a plan is the one that was named, approved and allowed; that of
// a later layer is left for the next time.
func TestApplyReviewed(t *testing.T) {
	withoutTofu(t)
	protected := func(d *desk) { d.Environment.Protected, d.AllowDestroy = true, "a.b" }
	digest := func(d *desk) {
		_, digest, err := d.Find(t.Context(), []*Layer{d.Layer})
		must(t, err)
		d.Digest = digest
	}
	for name, c := range map[string]struct {
		plan          func(m *manifest.Manifest, sealed *[]byte)
		before        []func(d *desk)
		message, hint string
		later         bool // otherwise tofu is started
	}{
		"as it was made":        {},
		"named":                 {before: []func(*desk){digest}},
		"named, and protected":  {before: []func(*desk){protected, digest}},
		"no digest":             {before: []func(*desk){func(d *desk) { d.Digest = "latest" }}, message: `--digest is "latest", which is no digest of a plan`},
		"no plan":               {before: []func(*desk){func(d *desk) { d.Inputs = "sha256:" + strings.Repeat("b", 64) }}, message: "there is no plan of test in bucket state"},
		"another than is named": {before: []func(*desk){func(d *desk) { d.Digest = "sha256:" + strings.Repeat("0", 64) }}, message: "and not sha256:0000"},
		"not approved":          {before: []func(*desk){protected}, message: "--digest does not say which plan was reviewed"},
		"not allowed": {before: []func(*desk){protected, digest, func(d *desk) { d.AllowDestroy = "" }},
			message: "--allow-destroy does not name a.b", hint: "--allow-destroy=a.b"},
		"beside another run": {before: []func(*desk){func(d *desk) { d.other(journal.Header{ID: "you", Stage: "apply"}) }}, message: "is in use by run you"},
		"of a later layer":   {plan: func(m *manifest.Manifest, sealed *[]byte) { m.After, m.Plan, *sealed = "net", "", nil }, later: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.Environment.State.S3 = &environment.S3{Bucket: "state"}
			d.withPlan(c.plan)
			for _, before := range c.before {
				before(d)
			}
			err := applyReviewed(t.Context(), d.Layer.Run, []*Layer{d.Layer})
			if d.Changes != c.later {
				t.Errorf("there are changes: %v", d.Changes)
			}
			switch {
			case c.message != "":
				refuses(t, err, c.message, c.hint)
			case c.later:
				must(t, err)
				d.says("test: not applied, because it could not be planned before net was applied; next: dagger call plan --env=test --keep\n")
			default:
				notStarted(t, err, "init")
				d.says("test: the plan of run planner, made ")
			}
			if objects, err := d.Store.List(t.Context(), d.ClaimKey(manifest.Manifest{RunID: "planner"})); err != nil || len(objects) > 0 {
				t.Errorf("it is marked as applied: %v", err)
			}
		})
	}
}

// A plan is applied with the very lock file that it was made with.
func TestRefuseLockFile(t *testing.T) {
	d := planning(t)
	m := manifest.Manifest{Bindings: manifest.Bindings{LockFile: manifest.Digest([]byte("locks"))}}
	must(t, d.RefuseLockFile(m))
	must(t, os.WriteFile(d.LockFile(), []byte("others"), 0o600))
	refuses(t, d.RefuseLockFile(m), "since the plan of test was made, the lock file of the providers has changed", "dagger call plan --env=test --keep")
	must(t, os.Remove(d.LockFile()))
	refuses(t, d.RefuseLockFile(m), "the lock file of the providers has changed", "")
	must(t, d.RefuseLockFile(manifest.Manifest{}))
	must(t, os.Mkdir(d.LockFile(), 0o700))
	if err := d.RefuseLockFile(m); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("got %v", err)
	}
}

// What tofu is given is the plan that was sealed.
func TestUnseal(t *testing.T) {
	d := planning(t)
	sealed, err := secrets.Envelope([]byte("another plan"), d.Recipients)
	must(t, err)
	refuses(t, d.Unseal(Sealed{sealed: []byte("x")}), "the plan of test cannot be opened: ", "dagger call plan --env=test --keep")
	must(t, d.Unseal(Sealed{sealed: sealed}))
	if data, err := Folder(d.Layer.Run).Read(Inside(d.Layer.Run, d.PlanFile())); err != nil || string(data) != "another plan" {
		t.Errorf("%q, %v", data, err)
	}
	must(t, os.RemoveAll(d.Path("plans")))
	if err := d.Unseal(Sealed{sealed: sealed}); err == nil {
		t.Error("it is nowhere")
	}
}

// A plan is applied once. One that another run's lock has kept from being begun can be applied
// later.
func TestApplyOnce(t *testing.T) {
	withoutTofu(t)
	m := manifest.Manifest{RunID: "planner"}
	for name, c := range map[string]struct {
		before  func(d *desk)
		message string // of a refusal; empty: tofu is started
		claimed string // by which run, afterwards
	}{
		"first":           {before: func(*desk) {}, claimed: "me"},
		"second":          {before: func(d *desk) { must(t, d.Store.Write(t.Context(), d.ClaimKey(m), []byte("run7"))) }, message: `the plan of test is being applied by run "run7"`, claimed: "run7"},
		"beside a lock":   {before: func(d *desk) { d.locked("laptop") }, message: "is locked by root@host"},
		"of another plan": {before: func(d *desk) { must(t, d.Store.Write(t.Context(), d.ClaimKey(manifest.Manifest{RunID: "x"}), nil)) }, claimed: "me"},
	} {
		t.Run(name, func(t *testing.T) {
			d := planning(t)
			c.before(d)
			if _, err := applyOnce(t.Context(), d.Layer, m); c.message != "" {
				refuses(t, err, c.message, "")
			} else if !errors.Is(err, tofu.ErrNotStarted) {
				t.Errorf("got %v", err)
			}
			by, err := d.Store.Read(t.Context(), d.ClaimKey(m))
			if string(by) != c.claimed || c.claimed != "" && err != nil {
				t.Errorf("it is claimed by %q, %v", by, err)
			}
		})
	}
	d := planning(t)
	d.fault = func(w http.ResponseWriter, r *http.Request) bool {
		refused := strings.HasSuffix(r.URL.Path, ".applied")
		if refused {
			w.WriteHeader(http.StatusForbidden)
		}
		return refused
	}
	if _, err := applyOnce(t.Context(), d.Layer, m); err == nil || errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("without a claim: %v", err)
	}
	d.Store = nil
	if _, err := applyOnce(t.Context(), d.Layer, m); !errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("over HTTP: %v", err)
	}
}

// The command that makes a new plan has what this one had.
func TestPlanCommand(t *testing.T) {
	for want, o := range map[string]Options{
		"dagger call plan --env=test --keep":                                        {},
		"dagger call plan --env=test --layer=net --keep":                            {OnlyLayer: "net"},
		"dagger call plan-files --env=test --layer=net export --path=.slipway/plan": {OnlyLayer: "net", PlanFolder: "/plan"},
	} {
		o.Env = "test"
		if got := (&Run{Options: o}).PlanCommand(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The state of each layer before this one is what a plan depends on, too; those behind it are
// not.
func TestBindings(t *testing.T) {
	d := newDesk(t)
	d.withPlan(nil)
	layers := []environment.Layer{{Path: "net"}, {Path: "app"}, {Path: "top"}}
	d.Environment.Layers = layers
	d.Config = layers[1]
	for key, serial := range map[string]string{"test/net.tfstate": "3", "test/top.tfstate": "5"} {
		must(t, d.Store.Write(t.Context(), key, []byte(`{"serial":`+serial+`,"lineage":"line","encrypted_data":"x"}`)))
	}
	b, err := d.bindings(t.Context())
	must(t, err)
	if len(b.Upstream) != 1 || b.Upstream["net"].Serial != 3 || b.Inputs != d.Inputs || b.Tools["tofu"] == "" {
		t.Errorf("%+v", b)
	}
}
