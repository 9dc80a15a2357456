package hold

import (
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
