package playbook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	d.Key = hold.Hosts(d.Run).Key
	return New(d.Run), d
}

// A deploy that ended by itself releases its lock. Only a complete one makes up for those before it and is
// recorded. One that was stopped leaves its lock and its journal.
func TestSettle(t *testing.T) {
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
		"unreachable":     {done: began, err: fault.New(fault.Unreachable, "", "a host is silent"), dead: true},
		"refused":         {done: began, err: fault.Refuse("", "no"), stays: true, dead: true},
		"stopped at once": {done: idle, err: fault.New(fault.Interrupted, "", "stopped"), stays: true, dead: true},
		"interrupted":     {done: began, err: fault.New(fault.Interrupted, "", "stopped"), stays: true, dead: true},
		"lost its lock":   {done: began, err: errors.Join(journal.ErrUnlocked, fault.New(fault.Interrupted, "", "stopped")), stays: true, dead: true},
		"crashed":         {done: began, err: errors.New("no exit code"), stays: true, dead: true},
		"crashed at once": {done: idle, err: errors.New("not started"), dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := onDesk(t)
			d.Repository = t.TempDir()
			must.Do(t, os.Mkdir(filepath.Join(d.Repository, sources), 0o755))
			d.Interrupted(journal.Header{ID: "dead", Stage: "deploy"})
			stopped, cancel := context.WithCancel(t.Context())
			cancel()
			err := hold.Replace(t.Context(), hold.Hosts(d.Run), "", func(_ context.Context, _ *hold.Hold, o hold.Others) (bool, error) {
				return s.settle(stopped, c.done, c.options, o.Dead, c.err)
			})
			if (err != nil) != (c.err != nil) {
				t.Errorf("got %v", err)
			}
			if _, err := d.Store.Read(t.Context(), deployedKey(d.Run)); (err == nil) == c.dead {
				t.Errorf("the record of the last deploy: %v", err)
			}
			d.ID = "next"
			others, err := hold.RunsOn(t.Context(), hold.Hosts(d.Run))
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

// The journal has each task that begins, whatever the strategy of the play is, and nothing else.
func TestRecordTasks(t *testing.T) {
	s, d := onDesk(t)
	w, done := d.Other(journal.Header{ID: "one", Stage: "deploy"}), &ansible.Record{}
	for i, kind := range []string{ansible.PlayStart, ansible.TaskStart, ansible.OK, ansible.HandlerStart, ansible.Failed, ansible.HostStart, ansible.Unreachable, ansible.Recap} {
		e := ansible.Event{Kind: kind, Play: ansible.Named{Name: "Site"}, Task: ansible.Named{Name: fmt.Sprint("task ", i)}}
		done.Add(e)
		s.record(w, e, done)
		s.record(nil, e, done)
	}
	must.Do(t, w.Abandon(t.Context()))
	runs, err := journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
	must.Do(t, err)
	var begun []string
	for _, e := range runs[0].Entries {
		if e.Kind != journal.Begin {
			begun = append(begun, string(e.Kind)+" "+e.Address)
		}
	}
	if got := strings.Join(begun, ", "); got != "start Site / task 1, start Site / task 3, start Site / task 5" {
		t.Errorf("got %s", got)
	}
}
