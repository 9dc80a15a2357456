package playbook

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"slipway/internal/ansible"
	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/testkit"
)

// onDesk is a site whose deploy lock is in an in-memory store.
func onDesk(t *testing.T) (*Site, *testkit.Desk) {
	t.Helper()
	d := testkit.New(t)
	d.Result.Stage = "deploy"
	d.Key = HostsOf(d.Run).Key
	return New(d.Run), d
}

// A deploy takes the lock if nobody has it, or a dead run, which it reports. Whose deploy it is, is in
// its journal.
func TestTake(t *testing.T) {
	for name, c := range map[string]struct {
		before        func(d *testkit.Desk)
		message, hint string // empty: it has the lock
		report        string
	}{
		"no lock": {before: func(*testkit.Desk) {}},
		"of a dead deploy": {before: func(d *testkit.Desk) {
			d.Interrupted(journal.Header{ID: "dead", Stage: "deploy", Lock: "of-dead"})
			d.LockAs("of-dead")
		}, report: "was interrupted before its first task: this deploy begins again with the first task\n"},
		"of nobody that is known": {before: func(d *testkit.Desk) { d.LockAs("laptop") },
			message: "the lock of the hosts of test is in no journal", hint: "dagger call unlock --env=test --lock-id=laptop"},
		"beside another deploy": {before: func(d *testkit.Desk) { d.Other(journal.Header{ID: "you", Stage: "deploy"}) },
			message: "run you (deploy, started", hint: "dagger call deploy --env=test"},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := onDesk(t)
			c.before(d)
			before, lock := strings.Join(d.Journals(), " "), d.LockID()
			turn, err := s.take(t.Context(), "sha256:inventory", Options{Commit: "abc"})
			if c.message != "" {
				must.Refuse(t, err, c.message, c.hint)
				if now := strings.Join(d.Journals(), " "); now != before || d.LockID() != lock {
					t.Errorf("it leaves the lock %q, and %q", d.LockID(), now)
				}
				return
			}
			must.Do(t, err)
			if text := d.Text(); !strings.HasSuffix(text, c.report) || (text == "") != (c.report == "") {
				t.Errorf("it says %q", text)
			}
			if id := d.LockID(); id != turn.hold.Lock.ID {
				t.Errorf("the lock is %q", id)
			}
			runs, err := journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
			must.Do(t, err)
			own := runs[len(runs)-1]
			if own.ID != "me" || own.Commit != "abc" || own.Inputs != "sha256:inventory" || own.Layer != "the hosts of test" {
				t.Errorf("its journal says %+v", own.Header)
			}
			must.Do(t, turn.hold.End(t.Context(), true))
		})
	}
	// The store fails when the lock is to be taken.
	s, d := onDesk(t)
	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		refused := r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".tflock")
		if refused {
			w.WriteHeader(http.StatusForbidden)
		}
		return refused
	}
	if _, err := s.take(t.Context(), "", Options{}); err == nil || len(d.Journals()) > 0 {
		t.Errorf("%v, and it leaves %q", err, d.Journals())
	}
}

// A deploy that ended by itself releases its lock. Only a complete one makes up for those before it. One
// that was stopped leaves its lock and its journal.
func TestEnd(t *testing.T) {
	began, idle := &ansible.Record{Began: true}, &ansible.Record{}
	failed := fault.Fail("", "a task failed")
	for name, c := range map[string]struct {
		done        *ansible.Record
		options     Options
		err         error
		stays, dead bool // its own lock, and the journal of the one before it
	}{
		"done":            {done: began},
		"on one host":     {done: began, options: Options{Limit: "a"}, dead: true},
		"some tasks":      {done: began, options: Options{Tags: "base"}, dead: true},
		"a task failed":   {done: began, err: failed, dead: true},
		"interrupted":     {done: began, err: fault.New(fault.Interrupted, "", "stopped"), stays: true, dead: true},
		"lost its lock":   {done: began, err: errors.Join(journal.ErrUnlocked, fault.New(fault.Interrupted, "", "stopped")), stays: true, dead: true},
		"crashed":         {done: began, err: errors.New("no exit code"), stays: true, dead: true},
		"crashed at once": {done: idle, err: errors.New("not started"), dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := onDesk(t)
			d.Interrupted(journal.Header{ID: "dead", Stage: "deploy"})
			turn, err := s.take(t.Context(), "", Options{})
			must.Do(t, err)
			stopped, cancel := context.WithCancel(t.Context())
			cancel()
			must.Do(t, turn.end(stopped, c.done, c.options, c.err))
			d.ID = "next"
			others, err := hold.RunsOn(t.Context(), HostsOf(d.Run))
			must.Do(t, err)
			var ids []string
			for _, other := range others.Dead {
				ids = append(ids, other.ID)
			}
			var want []string
			if c.dead {
				want = append(want, "dead")
			}
			if c.stays {
				want = append(want, "me")
			}
			if strings.Join(ids, " ") != strings.Join(want, " ") || (d.LockID() != "") != c.stays || len(others.Live) > 0 {
				t.Errorf("left are %q, want %q, and the lock %q", ids, want, d.LockID())
			}
		})
	}
}
