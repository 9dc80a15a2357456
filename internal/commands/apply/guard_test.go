package apply

import (
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/run"
	"slipway/internal/sealedplan"
)

// A protected environment loses what is named: all of it, and nothing else.
func TestGuard(t *testing.T) {
	for name, c := range map[string]struct {
		open          bool // not protected
		losses        []string
		allowed       string
		message, hint string // empty: it may be
	}{
		"nothing is lost":             {},
		"named":                       {losses: []string{"a.b", "c.d"}, allowed: "c.d, a.b"},
		"named, and lost twice":       {losses: []string{"a.b", "a.b"}, allowed: "a.b"},
		"not protected":               {open: true, losses: []string{"a.b"}},
		"nothing named":               {losses: []string{"c.d", "a.b"}, message: "environment test is protected, the plan deletes, replaces or forgets 2, and --allow-destroy does not name a.b", hint: "dagger call destroy --env=test --allow-destroy=a.b,c.d"},
		"one of two named":            {losses: []string{"a.b", "c.d"}, allowed: "a.b", message: "does not name c.d"},
		"more named than lost":        {losses: []string{"a.b"}, allowed: "a.b,c.d", message: "--allow-destroy names c.d, which the plan does not delete, replace or forget", hint: "--allow-destroy=a.b"},
		"named, and nothing is lost":  {allowed: "a.b", message: "the plan deletes, replaces or forgets nothing, but --allow-destroy names a.b", hint: "dagger call destroy --env=test"},
		"a key with a comma":          {losses: []string{`a.b["x,y"]`}, allowed: `a.b["x,y"]`},
		"a key that has to be quoted": {losses: []string{`a.b["x"]`}, message: "does not name", hint: `--allow-destroy='a.b["x"]'`},
		"a quote that does not end":   {losses: []string{"a.b"}, allowed: `a.b["x`, message: "--allow-destroy has an unclosed quote"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run.Run{Options: run.Options{Env: "test"}, Environment: &environment.Environment{Protected: !c.open}}
			r.Result.Stage = "destroy"
			err := guard(r, c.losses, options{allowDestroy: c.allowed})
			if c.message != "" {
				must.Refuse(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// The command that is hinted at has what this one had.
func TestGuardCommand(t *testing.T) {
	r := &run.Run{
		Options:     run.Options{Env: "test", OnlyLayer: "net"},
		Environment: &environment.Environment{Protected: true},
	}
	r.Result.Stage = "apply"
	must.Refuse(t, guard(r, []string{"a.b"}, options{plan: sealedplan.Source{Folder: "/plan", Digest: "sha256:1"}}), "", "dagger call apply --env=test --layer=net --plan=… --digest=sha256:1 --allow-destroy=a.b")
	r.Result.Stage = "destroy"
	must.Refuse(t, guard(r, []string{"a.b"}, options{confirm: "test"}), "", "dagger call destroy --env=test --layer=net --confirm=test --allow-destroy=a.b")
}

// A plan that is made after the guard loses nothing more than was allowed.
func TestOnlyAllowed(t *testing.T) {
	losing := func(addresses ...string) (s plan.Summary) {
		for _, address := range addresses {
			s.Changes = append(s.Changes, plan.Change{Address: address, Action: plan.Delete})
		}
		return s
	}
	for name, c := range map[string]struct {
		open    bool
		allowed string
		plan    plan.Summary
		want    string
	}{
		"nothing":         {plan: losing()},
		"what is allowed": {allowed: "a.b,c.d", plan: losing("a.b", "c.d")},
		"less":            {allowed: "a.b,c.d", plan: losing("a.b")},
		"more":            {allowed: "a.b", plan: losing("a.b", "c.d"), want: "would now also delete, replace or forget c.d"},
		"not protected":   {open: true, plan: losing("a.b")},
		"an open quote":   {allowed: `a["`, plan: losing(), want: "has an unclosed quote"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &layer.Layer{Run: &run.Run{Environment: &environment.Environment{Protected: !c.open}}, Name: "test"}
			err := onlyAllowed(l, c.plan, options{allowDestroy: c.allowed})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}
