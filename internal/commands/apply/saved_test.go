package apply

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// A tofu that could not be started has made nothing: the lock goes back, and there is nothing
// to recover. Where a state may have been lost all the same, both stay.
func TestApplyPlanNotStarted(t *testing.T) {
	testkit.WithoutTofu(t)
	for name, c := range map[string]struct {
		before    func(d *testkit.Desk)
		want      string
		left      bool // the lock and the journal
		unwritten bool
	}{
		"nothing is there":        {before: func(*testkit.Desk) {}},
		"one that cannot be read": {before: func(d *testkit.Desk) { must.Do(t, os.Mkdir(filepath.Join(d.Dir, "errored.tfstate"), 0o700)) }, want: "is not a regular file", left: true, unwritten: true},
		"tofu complains of the state": {before: func(d *testkit.Desk) {
			d.Diagnostics = []tofu.Diagnostic{{Severity: "error", Summary: "Error refreshing state"}}
		}, unwritten: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.Dir = d.Path("repository")
			must.Do(t, os.MkdirAll(d.Dir, 0o700))
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
	d := testkit.New(t)
	d.LockAs("laptop")
	_, err := applyPlan(t.Context(), d.Layer)
	must.Refuse(t, err, "is locked by root@host", "dagger call unlock")
}

// An apply that did nothing needs no look at the state. One that did, and whose state cannot
// be read, is in doubt for that reason.
func TestCloseApplyLooks(t *testing.T) {
	testkit.WithoutTofu(t)
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
		d := testkit.New(t)
		d.Dir = d.Path("repository")
		must.Do(t, os.MkdirAll(d.Dir, 0o700))
		if c.state != "" {
			must.Do(t, d.Store.Write(t.Context(), d.Key, []byte(c.state)))
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
	recorded := map[string]*tfjson.StateResource{"a.b": testkit.Recorded("a", "1")}
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
		"recreated":              {account: made("a.b", "2"), want: "a.b was created, but the store"},
		"made elsewhere":         {account: made("c.d", "1"), want: "c.d was created, but the store"},
		"made elsewhere, no ID":  {account: made("c.d", ""), want: "c.d was created, but the store"},
		"deleted":                {account: journal.Outcome{Deleted: []journal.Entry{{Address: "c.d"}}}},
		"deleted, and still in":  {account: journal.Outcome{Deleted: []journal.Entry{{Address: "a.b"}}}, want: "a.b was deleted, but the store"},
		"in flight, and not his": {account: journal.Outcome{InFlight: []journal.Entry{{Address: "c.d"}}}},
	} {
		if err := missing(recorded, c.account); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// After an apply there is nothing to recover only if tofu ended by itself and the store has what it
// did.
func TestCloseApply(t *testing.T) {
	const before = `{"serial":7,"lineage":"line","encrypted_data":"x"}`
	for name, c := range map[string]struct {
		e       ending
		changed bool
		now     string // the state in the store
		want    string // empty: nothing to recover
	}{
		"nothing changed":             {now: before},
		"changed and written":         {changed: true, now: `{"serial":8,"lineage":"line","encrypted_data":"x"}`},
		"failed and written":          {e: ending{code: 1}, changed: true, now: `{"serial":8,"lineage":"line","encrypted_data":"x"}`},
		"changed and not written":     {changed: true, now: before, want: "the state may not record what was done"},
		"changed, and a broken state": {changed: true, now: "x", want: "is damaged"},
		"killed":                      {e: ending{err: tofu.ErrKilled}, now: before, want: "the state may not record everything that the apply did"},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.Dir = d.Path("repository")
			must.Do(t, os.MkdirAll(d.Dir, 0o700))
			d.Stamp = state.Stamp{Serial: 7, Lineage: "line"}
			must.Do(t, d.Store.Write(t.Context(), d.Key, []byte(c.now)))
			seen := &recorder{}
			if c.changed {
				seen.done = []journal.Entry{{Kind: journal.Complete, Address: "a.b", Action: "create"}}
			}
			err := closeApply(t.Context(), t.Context(), d.Layer, seen, c.e)
			if c.want == "" && (d.Unwritten || err != nil && c.e.succeeded()) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
			if c.want != "" {
				must.Hint(t, err, "dagger call recover --env=test")
			}
			if d.Row.Applied != (c.want == "" && c.e.succeeded()) || d.Unwritten != (c.want != "") {
				t.Errorf("applied: %v, unwritten: %v", d.Row.Applied, d.Unwritten)
			}
		})
	}
	overHTTP := func() *layer.Layer {
		d := testkit.New(t)
		d.Store, d.Dir = nil, d.Path("repository")
		must.Do(t, os.MkdirAll(d.Dir, 0o700))
		return d.Layer
	}
	must.Do(t, closeApply(t.Context(), t.Context(), overHTTP(), &recorder{done: []journal.Entry{{}}}, ending{}))
	err := closeApply(t.Context(), t.Context(), overHTTP(), &recorder{}, ending{err: tofu.ErrKilled})
	must.Hint(t, err, "dagger call state-list --env=test   # compare it with the cloud") // over HTTP, there is nothing to recover by
}

// A plan that did something was not stale, whatever tofu says.
func TestCloseApplyStale(t *testing.T) {
	for name, c := range map[string]struct {
		done  []journal.Entry
		stale bool
	}{
		"nothing was done":   {stale: true},
		"something was done": {done: []journal.Entry{{Kind: journal.Complete, Address: "a.b", Action: "create"}}},
	} {
		d := testkit.New(t)
		d.Diagnostics = []tofu.Diagnostic{{Severity: "error", Summary: "Saved plan is stale"}}
		err := closeApply(t.Context(), t.Context(), d.Layer, &recorder{done: c.done}, ending{code: 1})
		if err == nil || errors.Is(err, errStale) != c.stale {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A plan is applied once. One that another run's lock has kept from being begun can be applied
// later.
func TestApplyOnce(t *testing.T) {
	testkit.WithoutTofu(t)
	for name, c := range map[string]struct {
		before  func(d *sealedDesk)
		message string // of a refusal; empty: tofu is started
		claimed string // by which run, afterwards
	}{
		"first": {before: func(*sealedDesk) {}, claimed: "me"},
		"second": {before: func(d *sealedDesk) {
			must.Do(t, d.Store.Write(t.Context(), "plans/"+d.Key+"/planner.applied", []byte("run7")))
		}, message: `the plan of test is being applied by run "run7"`, claimed: "run7"},
		"beside a lock":   {before: func(d *sealedDesk) { d.LockAs("laptop") }, message: "is locked by root@host"},
		"of another plan": {before: func(d *sealedDesk) { must.Do(t, d.Store.Write(t.Context(), "plans/"+d.Key+"/x.applied", []byte("x"))) }, claimed: "me x"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newSealedDesk(t, "")
			p := d.sealed()
			c.before(d)
			if _, err := applyOnce(t.Context(), d.Layer, p, d.o.plan); c.message != "" {
				must.Refuse(t, err, c.message, "")
			} else if !errors.Is(err, tofu.ErrNotStarted) {
				t.Errorf("got %v", err)
			}
			if by := d.claims(); by != c.claimed {
				t.Errorf("it is claimed by %q", by)
			}
		})
	}
	d := newSealedDesk(t, "")
	p := d.sealed()
	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		refused := strings.HasSuffix(r.URL.Path, ".applied")
		if refused {
			w.WriteHeader(http.StatusForbidden)
		}
		return refused
	}
	if _, err := applyOnce(t.Context(), d.Layer, p, d.o.plan); err == nil || errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("without a claim: %v", err)
	}
	d.Store = nil
	if _, err := applyOnce(t.Context(), d.Layer, p, d.o.plan); !errors.Is(err, tofu.ErrNotStarted) {
		t.Errorf("over HTTP: %v", err)
	}
}
