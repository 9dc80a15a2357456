package hold

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/testkit"
)

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

// What may not run at the same time: a layer is not changed while a playbook works on the hosts, and
// a playbook does not run while a layer is being changed, or is not sound. Layers do not keep each
// other out.
func TestRefuseBeside(t *testing.T) {
	const net, app, onHosts = "test/net.tfstate", "test/app.tfstate", "test/deploy.hosts"
	for name, c := range map[string]struct {
		other        string // key of the subject on which another run is
		interrupted  bool
		deploys      bool
		state, hosts string // messages for a run on layer net, and on the hosts; empty: it may begin
		hint         string // of the latter
	}{
		"a deploy":                  {other: onHosts, deploys: true, state: "the hosts of test are in use by run you (apply"},
		"an interrupted deploy":     {other: onHosts, deploys: true, interrupted: true},
		"a deploy, without ours":    {other: onHosts},
		"an apply":                  {other: app, deploys: true, hosts: "the state of app is in use by run you (apply", hint: "dagger call unlock --env=test"},
		"an interrupted apply":      {other: app, deploys: true, interrupted: true, hosts: "run you (apply, started", hint: "dagger call recover --env=test --layer=app"},
		"an apply that is not ours": {other: "test/other.tfstate", deploys: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.Environment.Layers = []environment.Layer{{Path: "net"}, {Path: "app"}}
			if c.deploys {
				d.Environment.Deploy = &environment.Deploy{}
			}
			d.Key = c.other
			you := journal.Header{ID: "you", Stage: "apply"}
			if c.interrupted {
				d.Interrupted(you)
			} else {
				d.Other(you)
			}
			state := State(d.Run, d.Environment.Layers[0])
			for _, begin := range []func() error{
				func() error { return RefuseRuns(t.Context(), state) },
				func() error {
					_, h, err := Take(t.Context(), state)
					return errors.Join(err, h.End(t.Context(), true))
				},
			} {
				if err := begin(); c.state != "" {
					must.Refuse(t, err, c.state, "dagger call unlock --env=test")
				} else {
					must.Do(t, err)
				}
			}
			d.Key = net
			if id := d.LockID(); id != "" {
				t.Errorf("the lock is %q", id)
			}
			if c.other == onHosts {
				if err := RefuseUsed(t.Context(), Hosts(d.Run)); !c.interrupted {
					must.Refuse(t, err, "the hosts of test are in use by run you (apply", "dagger call unlock --env=test")
				} else {
					must.Do(t, err)
				}
				return
			}
			if err := RefuseBeside(t.Context(), Hosts(d.Run)); c.hosts != "" {
				must.Refuse(t, err, c.hosts, c.hint)
			} else {
				must.Do(t, err)
			}
		})
	}
}
