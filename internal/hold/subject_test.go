package hold

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/testkit"
)

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
			worked := false
			for _, begin := range []func() error{
				func() error { return RefuseBeside(t.Context(), Hosts(d.Run)) },
				func() error {
					return Resume(t.Context(), Hosts(d.Run), func(context.Context, *Hold, Others) (bool, error) { worked = true; return true, nil })
				},
			} {
				if err := begin(); c.hosts != "" {
					must.Refuse(t, err, c.hosts, c.hint)
				} else {
					must.Do(t, err)
				}
			}
			d.Key = onHosts
			if worked != (c.hosts == "") || d.LockID() != "" || len(journalsOf(d)) > 0 {
				t.Errorf("it works: %v, and leaves the lock %q and %q", worked, d.LockID(), journalsOf(d))
			}
		})
	}
}

// journalsOf are the journals on the desk's key alone.
func journalsOf(d *testkit.Desk) []string {
	return slices.DeleteFunc(d.Journals(), func(key string) bool { return strings.HasPrefix(key, "journal/") })
}

// A layer is not changed while the nodes of a cluster are, nor the other way round. An interrupted change of
// nodes is repaired by the next one, so it keeps nobody out.
func TestNodesBeside(t *testing.T) {
	d := testkit.New(t)
	d.Repository = t.TempDir()
	d.Environment.Layers = []environment.Layer{{Path: "net"}}
	if s := State(d.Run, d.Environment.Layers[0]); len(s.beside) > 0 {
		t.Errorf("without a cluster, a layer waits for %s", s.beside[0].Name)
	}
	folder := filepath.Join(d.Repository, "environments/test")
	must.Do(t, os.MkdirAll(folder, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(folder, "cluster.yaml"), nil, 0o600))
	state, nodes := State(d.Run, d.Environment.Layers[0]), Nodes(d.Run)

	d.Key = nodes.Key
	you := d.Other(journal.Header{ID: "you", Stage: "cluster-apply"})
	must.Refuse(t, RefuseRuns(t.Context(), state), "the nodes of test are in use by run you (cluster-apply", "dagger call unlock --env=test")
	must.Do(t, you.Abandon(t.Context()))
	must.Do(t, RefuseRuns(t.Context(), state))

	d.Key = state.Key
	d.Interrupted(journal.Header{ID: "they", Stage: "apply"})
	must.Refuse(t, RefuseBeside(t.Context(), nodes), "run they (apply", "dagger call recover --env=test")
	for want, stage := range map[string]string{"dagger call cluster bootstrap --env=test": "cluster-bootstrap", "dagger call apply --env=test": "apply"} {
		if got := nodes.Call(stage); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	d.OnlyLayer = "cluster.yaml"
	if got := nodes.Call("apply"); got != "dagger call cluster apply --env=test" {
		t.Errorf("got %s", got)
	}
}
