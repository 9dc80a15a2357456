package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway/internal/environment"
	"slipway/internal/manifest"
	"slipway/internal/plan"
	"slipway/internal/state"
)

// What cannot stand in a manifest, or be kept, is refused before anything is planned.
func TestCheckSeal(t *testing.T) {
	for name, c := range map[string]struct {
		o             Sealer
		bucket        bool
		message, hint string // empty: it may be planned
	}{
		"nothing named":         {},
		"commits":               {o: Sealer{Commit: strings.Repeat("a1", 20), Base: "0123456"}},
		"a branch":              {o: Sealer{Commit: "main"}, message: `--commit is "main", which is not the hash of a commit`, hint: "git rev-parse HEAD"},
		"a branch as the base":  {o: Sealer{Base: "main"}, message: `--base is "main"`},
		"kept in a bucket":      {o: Sealer{Keep: true}, bucket: true},
		"kept without a bucket": {o: Sealer{Keep: true}, message: "the state of test is not in a bucket, so its plan cannot be kept there", hint: "dagger call plan-files --env=test export --path=.slipway/plan"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Run{Options: Options{Env: "test"}}
			if c.bucket {
				r.Store = &state.Store{}
			}
			if err := c.o.Check(r); c.message != "" {
				Refuse(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

const aPlan = "plan with values"

// planning is a desk that has just made a plan.
func planning(t *testing.T) *planDesk {
	t.Helper()
	d := newPlanDesk(t)
	d.Credentials = map[string]string{state.Passphrase: Passphrase}
	d.Inputs = "sha256:" + strings.Repeat("a", 64)
	d.sealer = Sealer{Commit: "0123456", Base: "6543210", Lifetime: time.Hour, Programs: func() (map[string]string, error) { return map[string]string{"tofu": "sha256:1"}, nil }}
	d.source.Programs = d.sealer.Programs
	d.Dir = d.Path("repository")
	Do(t, Folder(d.Layer.Run).Make("plans", "repository"))
	Do(t, Folder(d.Layer.Run).Write(Inside(d.Layer.Run, d.PlanFile()), []byte(aPlan)))
	Do(t, Folder(d.Layer.Run).Write(Inside(d.Layer.Run, d.LockFile()), []byte("locks")))
	return d
}

var aLoss = plan.Summary{Changes: []plan.Change{{Address: "a.b", Action: plan.Delete}}}

// A sealed plan can be read by who reads the credentials, and its manifest says what it is a
// plan of. It is in the result, and in the bucket if it is to be kept. Of a layer that has
// to be planned again there is a manifest only.
func TestSeal(t *testing.T) {
	for name, c := range map[string]struct {
		after string
		keep  bool
		says  string
	}{
		"for the result":         {},
		"kept":                   {keep: true, says: "test: the plan is kept until it is applied, or until " + time.Now().Add(time.Hour).UTC().Format(time.DateOnly) + "\n"},
		"of a later layer":       {after: "net"},
		"of a later layer, kept": {after: "net", keep: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := planning(t)
			d.sealer.Keep = c.keep
			Do(t, d.sealer.Seal(t.Context(), d.Layer, aLoss, c.after))
			folder := filepath.Join(d.Out, "plan", "test")
			data, err := os.ReadFile(filepath.Join(folder, manifestName))
			Do(t, err)
			m, err := manifest.Open(data, Passphrase)
			Do(t, err)
			if m.RunID != "me" || m.Environment != "test" || m.Layer != "test" || m.Commit != "0123456" || m.Base != "6543210" || m.After != c.after ||
				!m.Changes || len(m.Losses) != 1 || m.Expires.Sub(m.Created) != time.Hour || m.Bindings.Inputs != d.Inputs || m.Bindings.LockFile != manifest.Digest([]byte("locks")) {
				t.Errorf("%+v", m)
			}
			if len(d.sealer.parts) != 1 || d.sealer.parts[0].Layer != "test" || string(d.sealer.parts[0].Data) != string(data) {
				t.Errorf("the digest would be of %+v", d.sealer.parts)
			}
			sealed, err := os.ReadFile(filepath.Join(folder, planName))
			if c.after != "" {
				if !errors.Is(err, fs.ErrNotExist) || m.Plan != "" {
					t.Errorf("there is a plan: %v, %q", err, m.Plan)
				}
			} else if opened, err := d.Identity.Open(sealed); err != nil || string(opened) != aPlan || m.Plan != manifest.Digest(sealed) {
				t.Errorf("the plan: %q, %v", opened, err)
			}
			objects, err := d.Store.List(t.Context(), "plans/")
			Do(t, err)
			var keys []string
			for _, o := range objects {
				keys = append(keys, strings.TrimPrefix(o.Key, kept(d.Layer)))
			}
			want := map[[2]bool]string{{true, true}: "manifest.json plan.age", {true, false}: "manifest.json"}[[2]bool{c.keep, c.after == ""}]
			if got := strings.Join(keys, " "); got != want {
				t.Errorf("kept: %q", got)
			}
			if c.keep && c.after == "" {
				stored, err := d.Store.Read(t.Context(), kept(d.Layer)+planName)
				if err != nil || string(stored) != string(sealed) {
					t.Errorf("another is kept: %v", err)
				}
			}
			if text := d.Text(); text != c.says {
				t.Errorf("it says %q", text)
			}
		})
	}
	d := planning(t)
	Do(t, os.Remove(d.LockFile()))
	Do(t, d.sealer.Seal(t.Context(), d.Layer, plan.Summary{}, ""))
	if m, err := manifest.Open(d.sealer.parts[0].Data, Passphrase); err != nil || m.Changes || m.Bindings.LockFile != "" {
		t.Errorf("of nothing, without providers: %+v, %v", m, err)
	}
}

// A plan that cannot be sealed, or kept, is none.
func TestSealFails(t *testing.T) {
	refusing := func(d *planDesk, method, suffix string) {
		d.sealer.Keep = true
		d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			refused := r.Method == method && (strings.HasSuffix(r.URL.Path, suffix) || strings.Contains(r.URL.RawQuery, suffix))
			if refused {
				w.WriteHeader(http.StatusForbidden)
			}
			return refused
		}
	}
	folder := func(d *planDesk, name string) {
		Do(t, os.MkdirAll(filepath.Join(d.Out, "plan", "test", name), 0o755))
	}
	for name, c := range map[string]struct {
		before func(d *planDesk)
		want   string
	}{
		"without the tools' digests": {func(d *planDesk) {
			d.sealer.Programs = func() (map[string]string, error) { return nil, errors.New("no digest") }
		}, "no digest"},
		"a link for a lock file": {func(d *planDesk) {
			Do(t, os.Remove(d.LockFile()))
			Do(t, os.Symlink("/etc/passwd", d.LockFile()))
		}, "is no regular file"},
		"no plan":          {func(d *planDesk) { Do(t, os.Remove(d.PlanFile())) }, "no such file"},
		"nobody to read":   {func(d *planDesk) { d.Recipients = nil }, "no age recipient"},
		"no passphrase":    {func(d *planDesk) { d.Credentials = nil }, "without a passphrase"},
		"no place":         {func(d *planDesk) { Do(t, os.WriteFile(filepath.Join(d.Out, "plan"), nil, 0o600)) }, "not a directory"},
		"no manifest":      {func(d *planDesk) { folder(d, manifestName) }, "is a directory"},
		"no sealed plan":   {func(d *planDesk) { folder(d, planName) }, "is a directory"},
		"not kept":         {func(d *planDesk) { refusing(d, http.MethodPut, planName) }, "403"},
		"kept in part":     {func(d *planDesk) { refusing(d, http.MethodPut, manifestName) }, "403"},
		"others not known": {func(d *planDesk) { refusing(d, http.MethodGet, "list-type=2") }, "403"},
		"others not taken away": {func(d *planDesk) {
			refusing(d, http.MethodDelete, manifestName)
			d.sealer.Lifetime = -48 * time.Hour
		}, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			d := planning(t)
			c.before(d)
			if err := d.sealer.Seal(t.Context(), d.Layer, aLoss, ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// With each plan that is kept, those that have been of no use for a day are taken away.
func TestKeepTakesAway(t *testing.T) {
	d := planning(t)
	d.sealer.Keep = true
	for lifetime, want := range map[time.Duration]int{-23 * time.Hour: 3, -48 * time.Hour: 0} {
		Do(t, d.Store.Write(t.Context(), keptPlans(d.Layer)+"old/"+manifestName, []byte("old")))
		d.sealer.Lifetime = lifetime
		Do(t, d.sealer.Seal(t.Context(), d.Layer, aLoss, ""))
		if objects, err := d.Store.List(t.Context(), keptPlans(d.Layer)); err != nil || len(objects) != want {
			t.Errorf("plans for %s: %d are left, %v", lifetime, len(objects), err)
		}
	}
}

// A plan depends on the very programs that made it: this one, and the tofu that is found.
func TestDigestTools(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if found, err := digestPrograms()(); err == nil {
		t.Errorf("without tofu: %v", found)
	}
	Do(t, os.WriteFile(filepath.Join(dir, "tofu"), []byte("a program"), 0o700))
	found, err := digestPrograms()()
	Do(t, err)
	self, err := os.Executable()
	Do(t, err)
	own, err := digestFile(self)
	Do(t, err)
	sum := sha256.Sum256([]byte("a program"))
	if len(found) != 2 || found["tofu"] != "sha256:"+hex.EncodeToString(sum[:]) || found["slipway"] != own || own == found["tofu"] {
		t.Errorf("%v", found)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if digest, err := digestFile(path); err == nil {
			t.Errorf("of %s: %s", path, digest)
		}
	}
}

// The images are those of the pins, if any came along; pins that cannot be read are no
// absence of them.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	digest := "sha256:" + strings.Repeat("0", 64)
	Do(t, os.WriteFile(filepath.Join(dir, "pins"), []byte("OPENTOFU=ghcr.io/opentofu/opentofu:1.12.6@"+digest+"\nGO=golang:1.26@"+digest+"\n"), 0o600))
	Do(t, os.WriteFile(filepath.Join(dir, "broken"), []byte("x\n"), 0o600))
	for name, c := range map[string]struct {
		pins   string
		images int
		want   string // of the error; empty: none
	}{
		"none named":     {},
		"none there":     {pins: filepath.Join(dir, "none")},
		"pins":           {pins: filepath.Join(dir, "pins"), images: 2},
		"no pins":        {pins: filepath.Join(dir, "broken"), want: "broken: line 1"},
		"not to be read": {pins: filepath.Join(dir, "pins", "x"), want: "not a directory"},
	} {
		images, err := (&Run{Options: Options{PinsFile: c.pins}}).Pins()
		if len(images) != c.images || c.images > 0 && images[0].Repository+"@"+images[0].Digest != "ghcr.io/opentofu/opentofu@"+digest {
			t.Errorf("%s: %v", name, images)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The states of all earlier layers count; one that cannot be read is an error.
func TestBindingsOfLayers(t *testing.T) {
	d := planning(t)
	layers := []environment.Layer{{Path: "net"}, {Path: "app"}, {Path: "top"}}
	d.Environment.Layers, d.Config = layers, layers[2]
	Do(t, d.Store.Write(t.Context(), "test/app.tfstate", []byte(`{"serial":4,"lineage":"line","encrypted_data":"x"}`)))
	b, err := bind(t.Context(), d.Layer, d.sealer.Programs)
	Do(t, err)
	if len(b.Upstream) != 2 || b.Upstream["app"].Serial != 4 {
		t.Errorf("%+v", b.Upstream)
	}
	Do(t, d.Store.Write(t.Context(), "test/app.tfstate", []byte("x")))
	if _, err := bind(t.Context(), d.Layer, d.sealer.Programs); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got %v", err)
	}
}

// The plan of a layer is shown, is part of the environment's and is sealed, also if it has to
// be made again.
func TestPropose(t *testing.T) {
	for after, note := range map[string]string{"": "", "net": "will be planned again when net has been applied"} {
		d := New(t)
		d.Credentials = map[string]string{state.Passphrase: Passphrase}
		d.Inputs, d.Dir = "sha256:"+strings.Repeat("a", 64), d.Path("repository")
		Do(t, Folder(d.Layer.Run).Make("plans", "repository"))
		Do(t, Folder(d.Layer.Run).Write(Inside(d.Layer.Run, d.PlanFile()), []byte("a plan")))
		p := &planRun{sealer: Sealer{Programs: func() (map[string]string, error) { return nil, nil }}}
		loss := plan.Summary{Changes: []plan.Change{{Address: "a.b", Action: plan.Delete}}}
		Do(t, p.propose(t.Context(), d.Layer, loss, after))
		d.Says("a.b")
		if text := d.Text(); strings.Contains(text, "test: will be") != (note != "") || !strings.Contains(text, note) {
			t.Errorf("it says %s", text)
		}
		if len(p.layers) != 1 || p.layers[0].Name != "test" || p.layers[0].Note != note || len(p.layers[0].Summary.Changes) != 1 {
			t.Errorf("layers %+v", p.layers)
		}
		if _, err := os.Stat(filepath.Join(d.Out, "plan/test/manifest.json")); err != nil {
			t.Errorf("it is not sealed: %v", err)
		}
	}
}
