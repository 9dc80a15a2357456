package sealedplan

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway/internal/manifest"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/workspace"
)

// Whatever cannot be in a manifest, or be stored, is refused before anything is planned.
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
			r := &run.Run{Options: run.Options{Env: "test"}}
			if c.bucket {
				r.Store = &state.Store{}
			}
			if err := c.o.Check(r); c.message != "" {
				must.Refuse(t, err, c.message, c.hint)
			} else if err != nil || c.o.Programs == nil {
				t.Error(err)
			}
		})
	}
	s := Sealer{Programs: func() (map[string]string, error) { return nil, errors.New("these") }}
	must.Do(t, s.Check(&run.Run{}))
	_, err := s.Programs()
	must.Fail(t, err, "these")
}

const aPlan = "plan with values"

// planning is a desk that has just made a plan.
func planning(t *testing.T) *planDesk {
	t.Helper()
	d := newPlanDesk(t)
	d.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
	d.Inputs = "sha256:" + strings.Repeat("a", 64)
	d.sealer = Sealer{Commit: "0123456", Base: "6543210", Lifetime: time.Hour, Programs: func() (map[string]string, error) { return map[string]string{"tofu": "sha256:1"}, nil }}
	d.source.Programs = d.sealer.Programs
	d.Dir = d.Path("repository")
	must.Do(t, workspace.Folder(d.Run).Make("plans", "repository"))
	must.Do(t, workspace.Folder(d.Run).Write(workspace.Inside(d.Run, d.PlanFile()), []byte(aPlan)))
	must.Do(t, workspace.Folder(d.Run).Write(workspace.Inside(d.Run, d.LockFile()), []byte("locks")))
	return d
}

var aLoss = plan.Summary{Changes: []plan.Change{{Address: "a.b", Action: plan.Delete}}}

// A sealed plan can be read by the recipients of the credentials, and its manifest says what it was
// made from. It is in the result and, if it is to be kept, in the bucket. A layer that has to be
// planned again only has a manifest.
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
			must.Do(t, d.sealer.Seal(t.Context(), d.Layer, aLoss, c.after))
			folder := filepath.Join(d.Out, "plan", "test")
			data, err := os.ReadFile(filepath.Join(folder, manifestName))
			must.Do(t, err)
			m, err := manifest.Open(data, testkit.Passphrase)
			must.Do(t, err)
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
			must.Do(t, err)
			var keys []string
			for _, o := range objects {
				keys = append(keys, strings.TrimPrefix(o.Key, ofLayer(d.Layer).kept()))
			}
			want := map[[2]bool]string{{true, true}: "manifest.json plan.age", {true, false}: "manifest.json"}[[2]bool{c.keep, c.after == ""}]
			if got := strings.Join(keys, " "); got != want {
				t.Errorf("kept: %q", got)
			}
			if c.keep && c.after == "" {
				stored, err := d.Store.Read(t.Context(), ofLayer(d.Layer).kept()+planName)
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
	must.Do(t, os.Remove(d.LockFile()))
	must.Do(t, d.sealer.Seal(t.Context(), d.Layer, plan.Summary{}, ""))
	if m, err := manifest.Open(d.sealer.parts[0].Data, testkit.Passphrase); err != nil || m.Changes || m.Bindings.LockFile != "" {
		t.Errorf("of nothing, without providers: %+v, %v", m, err)
	}
}

// A plan that cannot be sealed or stored is an error.
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
		must.Do(t, os.MkdirAll(filepath.Join(d.Out, "plan", "test", name), 0o755))
	}
	for name, c := range map[string]struct {
		before func(d *planDesk)
		want   string
	}{
		"without the tools' digests": {func(d *planDesk) {
			d.sealer.Programs = func() (map[string]string, error) { return nil, errors.New("no digest") }
		}, "no digest"},
		"a link for a lock file": {func(d *planDesk) {
			must.Do(t, os.Remove(d.LockFile()))
			must.Do(t, os.Symlink("/etc/passwd", d.LockFile()))
		}, "is not a regular file"},
		"no plan":          {func(d *planDesk) { must.Do(t, os.Remove(d.PlanFile())) }, "no such file"},
		"nobody to read":   {func(d *planDesk) { d.Recipients = nil }, "no age recipient"},
		"no passphrase":    {func(d *planDesk) { d.Credentials = nil }, "without a passphrase"},
		"no place":         {func(d *planDesk) { must.Do(t, os.WriteFile(filepath.Join(d.Out, "plan"), nil, 0o600)) }, "not a directory"},
		"no manifest":      {func(d *planDesk) { folder(d, manifestName) }, "is a directory"},
		"no sealed plan":   {func(d *planDesk) { folder(d, planName) }, "is a directory"},
		"not kept":         {func(d *planDesk) { refusing(d, http.MethodPut, planName) }, "403"},
		"kept in part":     {func(d *planDesk) { refusing(d, http.MethodPut, manifestName) }, "403"},
		"others not known": {func(d *planDesk) { refusing(d, http.MethodGet, "list-type=2") }, "403"},
		"others not deleted": {func(d *planDesk) {
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

// Whenever a plan is stored, plans that have been useless for a day are deleted.
func TestKeepTakesAway(t *testing.T) {
	d := planning(t)
	d.sealer.Keep = true
	for lifetime, want := range map[time.Duration]int{-23 * time.Hour: 3, -48 * time.Hour: 0} {
		must.Do(t, d.Store.Write(t.Context(), ofLayer(d.Layer).plans()+"old/"+manifestName, []byte("old")))
		d.sealer.Lifetime = lifetime
		must.Do(t, d.sealer.Seal(t.Context(), d.Layer, aLoss, ""))
		if objects, err := d.Store.List(t.Context(), ofLayer(d.Layer).plans()); err != nil || len(objects) != want {
			t.Errorf("plans for %s: %d are left, %v", lifetime, len(objects), err)
		}
	}
}
