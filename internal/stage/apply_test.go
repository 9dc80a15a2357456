package stage

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/journal"
	"slipway/internal/tofu"
)

// NotStarted fails unless err says that this command of tofu was the first that did not start.
func NotStarted(t *testing.T, err error, command string) {
	t.Helper()
	if !errors.Is(err, tofu.ErrNotStarted) || !strings.HasPrefix(err.Error(), "tofu was not started: "+command+":") {
		t.Errorf("got %v", err)
	}
}

// A protected environment takes only a plan that was reviewed, and so does who names the
// digest of one. That of an environment without a bucket is in a folder.
func TestApplyTakes(t *testing.T) {
	WithoutTofu(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	const none, noBucket, nowhere = "there is no plan of test in bucket state", "the state of test is not in a bucket, so no plan is kept there", "there is no plan of test in the folder that --plan names"
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		protected, http bool
		o               options
		message         string // empty: it makes a plan
	}{
		"open":                                 {},
		"open, over HTTP":                      {http: true},
		"protected":                            {protected: true, message: none},
		"protected, over HTTP":                 {protected: true, http: true, message: noBucket},
		"with a digest":                        {o: options{plan: Source{Digest: digest}}, message: none},
		"with a digest, over HTTP":             {http: true, o: options{plan: Source{Digest: digest}}, message: noBucket},
		"the plan that is kept":                {o: options{reviewed: true}, message: none},
		"a plan":                               {o: options{plan: Source{Folder: "/nowhere"}}, message: nowhere},
		"a plan, protected and over HTTP":      {protected: true, http: true, o: options{plan: Source{Folder: "/nowhere"}}, message: nowhere},
		"a plan, with a digest, and over HTTP": {http: true, o: options{plan: Source{Folder: "/nowhere", Digest: digest}}, message: nowhere},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			more := ""
			if c.protected {
				more = "protected: true\n"
			}
			if c.http {
				d.Store = nil
				d.WithCodeOf("state:\n  http: {address: \"" + server.URL + "\"}\n" + more)
			} else {
				d.WithCode(more)
			}
			if err := apply(t.Context(), d.Opened(), c.o); c.message != "" {
				Refuse(t, err, c.message, "dagger call ")
			} else {
				NotStarted(t, err, "init")
			}
		})
	}
}

// What takes an environment away asks for its name first, and looks for runs that were
// interrupted. Of a protected one, all that would be lost is known before.
func TestDestroyTakes(t *testing.T) {
	WithoutTofu(t)
	for name, c := range map[string]struct {
		more, confirm string
		interrupted   bool
		message       string // empty: it starts tofu
	}{
		"without its name":                     {message: "destroy deletes everything in environment test"},
		"by another name":                      {confirm: "prod", message: `--confirm is "prod" and not the environment's name, test`},
		"by its name":                          {confirm: "test"},
		"on top of an interrupted run":         {confirm: "test", interrupted: true, message: "was interrupted"},
		"of a protected one":                   {confirm: "test", more: "protected: true\n"},
		"of a protected one, before it begins": {confirm: "test", more: "protected: true\n", interrupted: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			d.WithCode(c.more)
			d.Result.Stage = "destroy"
			r, o := d.Opened(), options{confirm: c.confirm}
			if c.interrupted {
				d.Interrupted(journal.Header{ID: "dead", Stage: "apply"})
			}
			for _, f := range []func(context.Context, *Run, options) error{destroy, down} {
				if err := f(t.Context(), r, o); c.message != "" {
					Refuse(t, err, c.message, "dagger call ")
				} else {
					NotStarted(t, err, "init")
				}
			}
		})
	}
	d := New(t)
	d.WithCode("")
	r := d.Opened()
	d.Nowhere()
	if err := destroy(t.Context(), r, options{confirm: "test"}); err == nil || errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("nowhere: %v", err)
	}
}

// With an environment go its plans and the record of its last check, and nothing of another.
func TestTakeKept(t *testing.T) {
	d := New(t)
	d.Env = "test"
	other := []string{"drift/test2.json", "plans/test2/x", "test/test.tfstate"}
	for _, key := range append([]string{"plans/test/a/plan.age", "plans/test/a/manifest.json", "drift/test.json"}, other...) {
		Do(t, d.Store.Write(t.Context(), key, []byte("x")))
	}
	Do(t, removeKept(t.Context(), d.Layer.Run))
	objects, err := d.Store.List(t.Context(), "")
	Do(t, err)
	var left []string
	for _, o := range objects {
		left = append(left, o.Key)
	}
	if strings.Join(left, " ") != strings.Join(other, " ") {
		t.Errorf("there is %q", left)
	}
	d.Says("test: deleted 3 kept plans and records\n")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		Do(t, d.Store.Write(t.Context(), "drift/test.json", []byte("x")))
		d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == method {
				w.WriteHeader(http.StatusForbidden)
			}
			return r.Method == method
		}
		if err := removeKept(t.Context(), d.Layer.Run); err == nil {
			t.Errorf("a store that takes no %s", method)
		}
	}
	d.Store = nil
	Do(t, removeKept(t.Context(), d.Layer.Run))
}

// A tofu that could not be started has made nothing: the lock goes back, and there is nothing
// to recover. Where a state may have been lost all the same, both stay.
func TestApplyPlanNotStarted(t *testing.T) {
	WithoutTofu(t)
	for name, c := range map[string]struct {
		before    func(d *Desk)
		want      string
		left      bool // the lock and the journal
		unwritten bool
	}{
		"nothing is there":        {before: func(*Desk) {}},
		"one that cannot be read": {before: func(d *Desk) { Do(t, os.Mkdir(filepath.Join(d.Dir, "errored.tfstate"), 0o700)) }, want: "is no regular file", left: true, unwritten: true},
		"tofu complains of the state": {before: func(d *Desk) {
			d.Diagnostics = []tofu.Diagnostic{{Severity: "error", Summary: "Error refreshing state"}}
		}, unwritten: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			d.Dir = d.Path("repository")
			Do(t, os.MkdirAll(d.Dir, 0o700))
			c.before(d)
			_, err := applyPlan(t.Context(), d.Layer)
			if !errors.Is(err, tofu.ErrNotStarted) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if d.Row.Applied || d.Unwritten != c.unwritten {
				t.Errorf("applied: %v, unwritten: %v", d.Row.Applied, d.Unwritten)
			}
			if left := d.LockID() != "" && len(d.Journals()) > 0; left != c.left {
				t.Errorf("the lock is %q, and there is %q", d.LockID(), d.Journals())
			}
			if told := d.Complaints.String(); len(d.Diagnostics) > 0 != strings.Contains(told, "test: error: Error refreshing state\n") {
				t.Errorf("it complains %q", told)
			}
			if said := d.Stderr.(*bytes.Buffer).String(); said != "test: applying\n" {
				t.Errorf("it says %q", said)
			}
		})
	}
	d := New(t)
	d.LockAs("laptop")
	_, err := applyPlan(t.Context(), d.Layer)
	Refuse(t, err, "is locked by root@host", "dagger call unlock")
}

// A run that this program itself ends says why; that it was asked to stop is said elsewhere.
func TestWhyItEnds(t *testing.T) {
	lost := errors.New("the lock is gone")
	for name, c := range map[string]struct {
		end  func(stop context.CancelCauseFunc)
		want error
	}{
		"it goes on":                 {func(context.CancelCauseFunc) {}, nil},
		"asked to stop":              {func(stop context.CancelCauseFunc) { stop(nil) }, nil},
		"out of time":                {func(stop context.CancelCauseFunc) { stop(context.DeadlineExceeded) }, nil},
		"by a cause of this program": {func(stop context.CancelCauseFunc) { stop(lost) }, lost},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		c.end(stop)
		if err := Stopped(ctx); err != c.want { //nolint:errorlint // the very same
			t.Errorf("%s: %v", name, err)
		}
		stop(nil)
	}
}

// Only an error of tofu's, about this, says that the state was not saved.
func TestStateNotSaved(t *testing.T) {
	for d, want := range map[tofu.Diagnostic]bool{
		{Severity: "error", Summary: "Failed to save state"}:               true,
		{Severity: "error", Summary: "Failed to persist state to backend"}: true,
		{Severity: "warning", Summary: "Failed to save state"}:             false,
		{Severity: "error", Summary: "quota exceeded"}:                     false,
		{Severity: "error", Summary: "It says: Failed to save state"}:      false,
	} {
		if got := (ending{diagnostics: []tofu.Diagnostic{d}}).stateNotSaved(); got != want {
			t.Errorf("%+v: %v", d, got)
		}
	}
}

// An apply that did nothing needs no look at the state. One that did, and whose state cannot
// be read, is in doubt for that reason.
func TestCloseApplyLooks(t *testing.T) {
	WithoutTofu(t)
	done := []journal.Entry{{Kind: journal.Complete, Address: "a.b", Action: "create"}}
	for name, c := range map[string]struct {
		state string // in the store; empty: none
		done  []journal.Entry
		want  string
	}{
		"it did nothing":       {},
		"the state of before":  {done: done, want: "tofu was not started: show"},
		"one that is damaged":  {state: "x", done: done, want: "is damaged"},
		"another than before":  {state: `{"serial":1,"lineage":"line","encrypted_data":"x"}`, done: done},
		"damaged, and nothing": {state: "x"},
	} {
		d := New(t)
		d.Dir = d.Path("repository")
		Do(t, os.MkdirAll(d.Dir, 0o700))
		if c.state != "" {
			Do(t, d.Store.Write(t.Context(), d.Key, []byte(c.state)))
		}
		err := closeApply(t.Context(), t.Context(), d.Layer, &recorder{done: c.done}, ending{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A state that is as before holds what was done only if each that was made is in it, by its
// ID where it has one, and none that was deleted.
func TestMissing(t *testing.T) {
	recorded := map[string]*tfjson.StateResource{"a.b": Recorded("a", "1")}
	made := func(address, id string) journal.Outcome {
		return journal.Outcome{Created: []journal.Entry{{Address: address, IDKey: "id", ID: id}}}
	}
	for name, c := range map[string]struct {
		account journal.Outcome
		want    string // of the error; empty: it holds all
	}{
		"nothing":                {},
		"made":                   {account: made("a.b", "1")},
		"made, and has no ID":    {account: made("a.b", "")},
		"made anew":              {account: made("a.b", "2"), want: "a.b was created, and the store"},
		"made elsewhere":         {account: made("c.d", "1"), want: "c.d was created, and the store"},
		"made elsewhere, no ID":  {account: made("c.d", ""), want: "c.d was created, and the store"},
		"deleted":                {account: journal.Outcome{Deleted: []journal.Entry{{Address: "c.d"}}}},
		"deleted, and still in":  {account: journal.Outcome{Deleted: []journal.Entry{{Address: "a.b"}}}, want: "a.b was deleted, and the store"},
		"in flight, and not his": {account: journal.Outcome{InFlight: []journal.Entry{{Address: "c.d"}}}},
	} {
		if err := missing(recorded, c.account); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where tofu cannot be started, nothing is known, taken in, forgotten or marked.
func TestNotStarted(t *testing.T) {
	WithoutTofu(t)
	entries := func(addresses ...string) (list []journal.Entry) {
		for _, address := range addresses {
			list = append(list, journal.Entry{Address: address, Action: "create", IDKey: "id", ID: "1"})
		}
		return list
	}
	composed := entries("ovh_cloud_project_database.db")
	for name, c := range map[string]struct {
		do      func(d *Desk) error
		command string // empty: there is nothing to start it for
	}{
		"what is recorded":     {func(d *Desk) error { _, err := d.Recorded(t.Context()); return err }, "show"},
		"forget":               {func(d *Desk) error { return forget(t.Context(), d.Layer, "a.b") }, "state"},
		"forget nothing":       {func(d *Desk) error { return forget(t.Context(), d.Layer) }, ""},
		"wishes":               {func(d *Desk) error { _, err := wishesOf(t.Context(), d.Layer, entries("a.b")); return err }, "plan"},
		"no wishes":            {func(d *Desk) error { _, err := wishesOf(t.Context(), d.Layer, nil); return err }, ""},
		"import one":           {func(d *Desk) error { _, err := importOne(t.Context(), d.Layer, "a.b", "1"); return err }, "import"},
		"import by blocks":     {func(d *Desk) error { _, err := importAll(t.Context(), d.Layer, entries("a.b")); return err }, "import"},
		"import by longer ids": {func(d *Desk) error { _, err := importAll(t.Context(), d.Layer, composed); return err }, "plan"},
		"import nothing":       {func(d *Desk) error { _, err := importAll(t.Context(), d.Layer, nil); return err }, ""},
		"make a user anew":     {func(d *Desk) error { return taintIncomplete(t.Context(), d.Layer, entries(databaseUser+".u"), nil) }, "show"},
		"make a group anew":    {func(d *Desk) error { return taintIncomplete(t.Context(), d.Layer, nil, entries(securityGroup+".g")) }, "show"},
		"nothing to make anew": {func(d *Desk) error {
			return taintIncomplete(t.Context(), d.Layer, entries("a.b"), entries(Network+".n"))
		}, ""},
		"mark":         {func(d *Desk) error { return taint(t.Context(), d.Layer, map[string]string{"a.b": "it is not whole"}) }, "taint"},
		"mark nothing": {func(d *Desk) error { return taint(t.Context(), d.Layer, nil) }, ""},
		"a search": {func(d *Desk) error {
			_, _, err := searchAll(t.Context(), d.Layer, journal.Outcome{InFlight: entries("a.b")})
			return err
		}, "show"},
		"what was made": {func(d *Desk) error {
			_, err := reconcile(t.Context(), d.Layer, journal.Outcome{Created: entries("a.b")})
			return err
		}, "show"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			d.Dir = d.Path("repository")
			Do(t, os.MkdirAll(d.Dir, 0o700))
			if err := c.do(d); c.command == "" {
				Do(t, err)
			} else {
				NotStarted(t, err, c.command)
			}
			if _, err := os.Stat(filepath.Join(d.Dir, "slipway_recover.tf")); err == nil {
				t.Error("blocks of an import are left in the code")
			}
			if text := d.Text(); text != "" {
				t.Errorf("it says %q", text)
			}
		})
	}
}

// A change begins with init, and never beside another run.
func TestChangeBegins(t *testing.T) {
	WithoutTofu(t)
	d := New(t)
	d.WithCode("")
	d.Opened()
	d.Dir = d.Path("repository")
	Do(t, os.MkdirAll(d.Dir, 0o700))
	_, err := change(t.Context(), d.Layer, tofu.Plan{}, options{})
	NotStarted(t, err, "init")
	d = New(t)
	d.Other(journal.Header{ID: "you", Stage: "apply"})
	_, err = change(t.Context(), d.Layer, tofu.Plan{}, options{})
	Refuse(t, err, "is in use by run you", "dagger call unlock")
}
