package apply

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// What takes an environment away asks for its name first, and looks for runs that were
// interrupted. Of a protected one, all that would be lost is known before.
func TestDestroyTakes(t *testing.T) {
	testkit.WithoutTofu(t)
	for name, c := range map[string]struct {
		more, confirm string
		interrupted   bool
		message       string // empty: it starts tofu
	}{
		"without its name":                     {message: "destroy deletes everything in environment test"},
		"by another name":                      {confirm: "prod", message: `--confirm is "prod", not the environment's name, test`},
		"by its name":                          {confirm: "test"},
		"on top of an interrupted run":         {confirm: "test", interrupted: true, message: "was interrupted"},
		"of a protected one":                   {confirm: "test", more: "protected: true\n"},
		"of a protected one, before it begins": {confirm: "test", more: "protected: true\n", interrupted: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.WithCode(c.more)
			d.Result.Stage = "destroy"
			r, o := d.Opened(), options{confirm: c.confirm}
			if c.interrupted {
				d.Interrupted(journal.Header{ID: "dead", Stage: "apply"})
			}
			for _, f := range []func(context.Context, *run.Run, options) error{destroy, down} {
				if err := f(t.Context(), r, o); c.message != "" {
					must.Refuse(t, err, c.message, "dagger call ")
				} else {
					must.NotStarted(t, err, "init")
				}
			}
		})
	}
	d := testkit.New(t)
	d.WithCode("")
	r := d.Opened()
	d.Nowhere()
	if err := destroy(t.Context(), r, options{confirm: "test"}); err == nil || errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("nowhere: %v", err)
	}
}

// With an environment go its plans and the record of its last check, and nothing of another.
func TestTakeKept(t *testing.T) {
	d := testkit.New(t)
	d.Env = "test"
	other := []string{"drift/test2.json", "plans/test2/x", "test/test.tfstate"}
	for _, key := range append([]string{"plans/test/a/plan.age", "plans/test/a/manifest.json", "drift/test.json"}, other...) {
		must.Do(t, d.Store.Write(t.Context(), key, []byte("x")))
	}
	must.Do(t, removeKept(t.Context(), d.Run))
	objects, err := d.Store.List(t.Context(), "")
	must.Do(t, err)
	var left []string
	for _, o := range objects {
		left = append(left, o.Key)
	}
	if strings.Join(left, " ") != strings.Join(other, " ") {
		t.Errorf("there is %q", left)
	}
	d.Says("test: deleted 3 stored plans and records\n")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		must.Do(t, d.Store.Write(t.Context(), "drift/test.json", []byte("x")))
		d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == method {
				w.WriteHeader(http.StatusForbidden)
			}
			return r.Method == method
		}
		if err := removeKept(t.Context(), d.Run); err == nil {
			t.Errorf("a store that takes no %s", method)
		}
	}
	d.Store = nil
	must.Do(t, removeKept(t.Context(), d.Run))
}
