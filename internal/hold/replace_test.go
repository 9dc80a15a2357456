package hold

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/testkit"
)

// subject is the state of a desk's layer.
func subject(d *testkit.Desk) Subject {
	s := State(d.Run, d.Config)
	s.Creates, s.Replaces = d.Creates, d.Replaces
	return s
}

// A run replaces one that is dead, or takes a lock that is free. What it is about to do is in its
// journal.
func TestReplace(t *testing.T) {
	for name, c := range map[string]struct {
		before        func(d *testkit.Desk)
		lockID        string
		message, hint string // empty: it has the lock
		dead          int    // runs that it learns of
	}{
		"no lock": {before: func(*testkit.Desk) {}},
		"of a dead run": {before: func(d *testkit.Desk) {
			d.Interrupted(journal.Header{ID: "dead", Stage: "deploy", Lock: "of-dead"})
			d.LockAs("of-dead")
		}, dead: 1},
		"of nobody that is known": {before: func(d *testkit.Desk) { d.LockAs("laptop") },
			message: "the lock of the hosts of test is in no journal", hint: "dagger call unlock --env=test --lock-id=laptop"},
		"that a person names": {before: func(d *testkit.Desk) { d.LockAs("laptop") }, lockID: "laptop"},
		"beside another": {before: func(d *testkit.Desk) { d.Other(journal.Header{ID: "you", Stage: "deploy"}) },
			message: "run you (deploy, started", hint: "dagger call deploy --env=test"},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.Result.Stage = "deploy"
			s := Hosts(d.Run)
			s.Commit, s.Inputs = "abc", "sha256:inventory"
			d.Key = s.Key
			c.before(d)
			before, lock := strings.Join(d.Journals(), " "), d.LockID()
			worked := false
			err := Replace(t.Context(), s, c.lockID, func(working context.Context, h *Hold, o Others) (bool, error) {
				worked = true
				if id := d.LockID(); id != h.Lock.ID || working.Err() != nil || len(o.Dead) != c.dead || len(o.Live) > 0 {
					t.Errorf("it works under the lock %q, beside %+v", id, o)
				}
				runs, err := journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
				must.Do(t, err)
				own := runs[len(runs)-1]
				if own.ID != "me" || own.Commit != "abc" || own.Inputs != "sha256:inventory" || own.Layer != "the hosts of test" {
					t.Errorf("its journal says %+v", own.Header)
				}
				return true, nil
			})
			if worked != (c.message == "") {
				t.Errorf("it works: %v", worked)
			}
			if c.message != "" {
				must.Refuse(t, err, c.message, c.hint)
			} else {
				must.Do(t, err)
				lock = ""
			}
			if now := strings.Join(d.Journals(), " "); now != before || d.LockID() != lock {
				t.Errorf("it leaves the lock %q, and %q", d.LockID(), now)
			}
		})
	}
}

// What fails is an error, and what is not clean keeps the lock and the journal.
func TestReplaceFails(t *testing.T) {
	broken := errors.New("it broke")
	for _, clean := range []bool{true, false} {
		d := testkit.New(t)
		err := Replace(t.Context(), subject(d), "", func(context.Context, *Hold, Others) (bool, error) { return clean, broken })
		if !errors.Is(err, broken) || (d.LockID() == "") != clean || (len(d.Journals()) == 0) != clean {
			t.Errorf("clean: %v: %v, it leaves the lock %q and %q", clean, err, d.LockID(), d.Journals())
		}
	}
	// The store fails when the lock is to be taken.
	d := testkit.New(t)
	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		refused := r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".tflock")
		if refused {
			w.WriteHeader(http.StatusForbidden)
		}
		return refused
	}
	err := Replace(t.Context(), subject(d), "", func(context.Context, *Hold, Others) (bool, error) {
		t.Error("it works without a lock")
		return true, nil
	})
	if err == nil || len(d.Journals()) > 0 {
		t.Errorf("%v, and it leaves %q", err, d.Journals())
	}
}

// A lock may be removed if a dead run's journal contains it, or a person names it.
func TestMayRelease(t *testing.T) {
	dead := []journal.Run{{Header: journal.Header{ID: "dead", Lock: "of-dead"}, Entries: []journal.Entry{{Kind: journal.Begin}}}}
	lock := state.Lock{ID: "lock", Who: "root@host"}
	for name, c := range map[string]struct {
		others        Others
		lock          state.Lock
		lockID        string
		message, hint string
	}{
		"of a dead run":           {Others{Dead: dead}, state.Lock{ID: "of-dead"}, "", "", ""},
		"of nobody that is known": {Others{Dead: dead}, lock, "", "it is not known whether root@host is dead", "make sure that it is dead, then: dagger call unlock --env=test --lock-id=lock"},
		"that a person names":     {Others{}, lock, "lock", "", ""},
		"beside the one named":    {Others{Dead: dead}, lock, "lokc", `--lock-id is "lokc", but the lock's ID is lock`, "--lock-id=lock"},
		"of an active run":        {Others{Live: dead}, state.Lock{ID: "of-dead"}, "", "it is not known whether", "--lock-id=of-dead"},
		"of one that has just finished": {Others{Over: dead}, state.Lock{ID: "of-dead"}, "",
			"run dead has just finished and is releasing the lock of test", "sleep 61 && dagger call recover --env=test"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run.Run{Options: run.Options{Env: "test", DeadAfter: time.Minute}, Environment: &environment.Environment{Name: "test"}, Result: run.Result{Stage: "recover"}}
			err := mayRelease(State(r, environment.Layer{Path: "."}), c.others, c.lock, c.lockID)
			if c.message != "" {
				must.Refuse(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	if err := mayRelease(Subject{Run: &run.Run{Options: run.Options{DeadAfter: 0}}}, Others{Over: dead}, state.Lock{ID: "of-dead"}, ""); err != nil {
		t.Errorf("of one that finished a minute ago: %v", err)
	}
}

// One that takes locks away is alone: before it begins, and after others can see it.
func TestAlone(t *testing.T) {
	d := testkit.New(t)
	_, h, err := alone(t.Context(), subject(d))
	must.Do(t, err)
	d.ID = "you"
	_, _, err = alone(t.Context(), subject(d))
	must.Refuse(t, err, "run me (apply, started", "sleep 61 && dagger call apply --env=test   # if it was killed; otherwise wait until it ends")
	if !strings.Contains(err.Error(), " by "+d.Identity.Recipients()[0]+" is alive: its last heartbeat was 0s ago") {
		t.Errorf("it does not say whose it is: %v", err)
	}
	must.Do(t, h.End(t.Context(), true))

	// Another begins between the look and the journal.
	d = testkit.New(t)
	begun := false
	d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/me/") && !begun {
			begun = true
			d.Other(journal.Header{ID: "you", Stage: "apply"})
		}
		return false
	}
	_, _, err = alone(t.Context(), subject(d))
	must.Refuse(t, err, "run you (apply, started", "wait until it ends")
	if keys := strings.Join(d.Journals(), " "); strings.Contains(keys, "me/") {
		t.Errorf("it leaves %s", keys)
	}
}

// release takes a dead run's lock, and no other.
func TestRelease(t *testing.T) {
	d := testkit.New(t)
	must.Do(t, release(t.Context(), subject(d), "")) // there is none
	d.Interrupted(journal.Header{ID: "dead", Lock: "of-dead"})
	d.LockAs("laptop")
	must.Refuse(t, release(t.Context(), subject(d), ""), "it is not known whether", "--lock-id=laptop")
	if id := d.LockID(); id != "laptop" {
		t.Errorf("the lock is %q", id)
	}
	must.Do(t, d.Store.Unlock(t.Context(), d.Key, "laptop"))
	d.LockAs("of-dead")
	must.Do(t, release(t.Context(), subject(d), ""))
	if id := d.LockID(); id != "" {
		t.Errorf("the lock is %q", id)
	}
}

// One that is refused at once has never shown itself.
func TestAloneRefusedAtOnce(t *testing.T) {
	d := testkit.New(t)
	d.Other(journal.Header{ID: "you", Stage: "apply"})
	d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			t.Errorf("it writes %s", r.URL.Path)
		}
		return false
	}
	_, _, err := alone(t.Context(), subject(d))
	must.Refuse(t, err, "run you (apply, started", "wait until it ends")
}
