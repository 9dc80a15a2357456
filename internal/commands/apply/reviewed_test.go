package apply

import (
	"strings"
	"testing"
	"time"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/run"
	"slipway/internal/sealedplan"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/workspace"
)

// A sealedDesk has a plan that is kept, and loses a.b.
type sealedDesk struct {
	*testkit.Desk
	o options
}

func newSealedDesk(t *testing.T, after string) *sealedDesk {
	t.Helper()
	d := &sealedDesk{Desk: testkit.New(t)}
	d.Environment.State.S3 = &environment.S3{Bucket: "state"}
	d.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
	d.Inputs = "sha256:" + strings.Repeat("a", 64)
	programs := func() (map[string]string, error) { return map[string]string{"tofu": "sha256:1"}, nil }
	d.o.plan.Programs = programs
	d.Dir = d.Path("repository")
	must.Do(t, workspace.Folder(d.Run).Make("plans", "repository"))
	must.Do(t, workspace.Folder(d.Run).Write(workspace.Inside(d.Run, d.PlanFile()), []byte("a plan")))
	sealer := sealedplan.Sealer{Keep: true, Lifetime: time.Hour, Programs: programs}
	d.ID = "planner"
	must.Do(t, sealer.Seal(t.Context(), d.Layer, plan.Summary{Changes: []plan.Change{{Address: "a.b", Action: plan.Delete}}}, after))
	d.ID = "me"
	d.Report = run.Page{}
	return d
}

// sealed is the plan that is kept.
func (d *sealedDesk) sealed() sealedplan.Plan {
	d.T.Helper()
	found, err := d.o.plan.Find(d.T.Context(), d.Run, []*layer.Layer{d.Layer}, nil)
	must.Do(d.T, err)
	return found.Layers[0]
}

// claims are the runs that have claimed a plan.
func (d *sealedDesk) claims() string {
	d.T.Helper()
	objects, err := d.Store.List(d.T.Context(), "plans/")
	must.Do(d.T, err)
	var by []string
	for _, o := range objects {
		if strings.HasSuffix(o.Key, ".applied") {
			run, err := d.Store.Read(d.T.Context(), o.Key)
			must.Do(d.T, err)
			by = append(by, string(run))
		}
	}
	return strings.Join(by, " ")
}

// An apply plans for itself only where nobody asks for a plan that was reviewed.
func TestWantsKept(t *testing.T) {
	for name, c := range map[string]struct {
		options   options
		protected bool
		want      bool
	}{
		"plain":                        {},
		"told to":                      {options: options{reviewed: true}, want: true},
		"by digest":                    {options: options{plan: sealedplan.Source{Digest: "sha256:1"}}, want: true},
		"protected":                    {protected: true, want: true},
		"of a folder":                  {options: options{plan: sealedplan.Source{Folder: "/plan"}}},
		"of a folder, by digest":       {options: options{plan: sealedplan.Source{Folder: "/plan", Digest: "sha256:1"}}},
		"of a folder, protected":       {options: options{plan: sealedplan.Source{Folder: "/plan"}}, protected: true},
		"of a folder, and told to":     {options: options{plan: sealedplan.Source{Folder: "/plan"}, reviewed: true}, want: true},
		"protected, and by its digest": {options: options{plan: sealedplan.Source{Digest: "sha256:1"}}, protected: true, want: true},
	} {
		r := &run.Run{Environment: &environment.Environment{Protected: c.protected}}
		if got := wantsKept(r, c.options); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Before the first tool starts, a plan is the one that was named, approved and allowed; that of
// a later layer is left for the next time.
func TestApplyReviewed(t *testing.T) {
	testkit.WithoutTofu(t)
	protected := func(d *sealedDesk) { d.Environment.Protected, d.o.allowDestroy = true, "a.b" }
	digest := func(d *sealedDesk) {
		found, err := d.o.plan.Find(t.Context(), d.Run, []*layer.Layer{d.Layer}, nil)
		must.Do(t, err)
		d.o.plan.Digest = found.Digest
	}
	for name, c := range map[string]struct {
		before        []func(d *sealedDesk)
		message, hint string
		later         bool // otherwise tofu is started
	}{
		"as it was made":        {},
		"named":                 {before: []func(*sealedDesk){digest}},
		"named, and protected":  {before: []func(*sealedDesk){protected, digest}},
		"no digest":             {before: []func(*sealedDesk){func(d *sealedDesk) { d.o.plan.Digest = "latest" }}, message: `--digest is "latest", which is not the digest of a plan`},
		"no plan":               {before: []func(*sealedDesk){func(d *sealedDesk) { d.Inputs = "sha256:" + strings.Repeat("b", 64) }}, message: "there is no plan of test in bucket state"},
		"another than is named": {before: []func(*sealedDesk){func(d *sealedDesk) { d.o.plan.Digest = "sha256:" + strings.Repeat("0", 64) }}, message: "not sha256:0000"},
		"not approved":          {before: []func(*sealedDesk){protected}, message: "--digest does not say which plan was reviewed"},
		"not allowed": {before: []func(*sealedDesk){protected, digest, func(d *sealedDesk) { d.o.allowDestroy = "" }},
			message: "--allow-destroy does not name a.b", hint: "--allow-destroy=a.b"},
		"beside another run": {before: []func(*sealedDesk){func(d *sealedDesk) { d.Other(journal.Header{ID: "you", Stage: "apply"}) }}, message: "is in use by run you"},
		"of a later layer":   {later: true},
	} {
		t.Run(name, func(t *testing.T) {
			after := ""
			if c.later {
				after = "net"
			}
			d := newSealedDesk(t, after)
			for _, before := range c.before {
				before(d)
			}
			_, err := applyReviewed(t.Context(), d.Run, []*layer.Layer{d.Layer}, nil, d.o)
			switch {
			case c.message != "":
				must.Refuse(t, err, c.message, c.hint)
			case c.later:
				must.Fail(t, err, "test is not applied: it could not be planned before net was applied")
				must.Hint(t, err, "dagger call plan --env=test --keep")
			default:
				must.NotStarted(t, err, "init")
				d.Says("test: the plan of run planner, made ")
			}
			if by := d.claims(); by != "" {
				t.Errorf("it is claimed by %s", by)
			}
		})
	}
}
