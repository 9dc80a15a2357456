package recovery

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// unlock shows the lock, and removes the lock of a dead run. What is left to recover from the run
// stays.
func TestUnlock(t *testing.T) {
	for name, c := range map[string]struct {
		before        func(d *testkit.Desk)
		message, hint string // empty: it is done
		says          []string
		lock          string // afterwards
	}{
		"no lock": {before: func(*testkit.Desk) {}, says: []string{"test: not locked\n"}},
		"of a dead run": {before: func(d *testkit.Desk) {
			d.Interrupted(journal.Header{ID: "dead", Lock: "of-dead"})
			d.LockAs("of-dead")
		}, says: []string{"test: locked by root@host since ", ", lock of-dead)\ntest: unlocked\n"}},
		"of nobody that is known": {before: func(d *testkit.Desk) { d.LockAs("laptop") }, message: "it is not known whether root@host is dead", hint: "--lock-id=laptop",
			says: []string{"test: locked by root@host since "}, lock: "laptop"},
		"beside an active run": {before: func(d *testkit.Desk) {
			d.Other(journal.Header{ID: "you", Stage: "apply", Lock: "of-you"})
			d.LockAs("of-you")
		}, message: "run you (apply, started", hint: "wait until it ends", lock: "of-you"},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			c.before(d)
			before := strings.Join(d.Journals(), " ")
			err := unlockOne(t.Context(), hold.State(d.Run, d.Config), "")
			if c.message != "" {
				must.Refuse(t, err, c.message, c.hint)
			} else {
				must.Do(t, err)
			}
			for _, want := range c.says {
				d.Says(want)
			}
			if text := d.Text(); c.lock != "" && strings.Contains(text, "unlocked") {
				t.Errorf("it says %q", text)
			}
			if id := d.LockID(); id != c.lock {
				t.Errorf("the lock is %q", id)
			}
			if now := strings.Join(d.Journals(), " "); now != before {
				t.Errorf("there was %q, and is %q", before, now)
			}
		})
	}
	d := testkit.New(t)
	d.LockAs("laptop")
	d.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if err := unlockOne(t.Context(), hold.State(d.Run, d.Config), ""); err == nil {
		t.Error("a store that refuses says that there is no lock")
	}
}

// unlock and recover look at each layer, and at the one that is named only.
func TestEachLayerUnlocked(t *testing.T) {
	for want, command := range map[string]run.Command{"not locked\n": Unlock(), "nothing was interrupted\n": Recover()} {
		for _, layer := range []string{"", "app"} {
			d := testkit.New(t)
			d.WithCode(testkit.TwoLayers)
			d.OnlyLayer = layer
			must.Do(t, command.Run(t.Context(), d.Opened()))
			d.Says("app: " + want)
			if text := d.Text(); strings.Contains(text, "net: "+want) != (layer == "") {
				t.Errorf("%s of %q says %q", command.Name, layer, text)
			}
		}
	}
}

// The lock on the hosts is one more, where there is a playbook and no single layer is named. A lock
// that has to stay keeps none of the others.
func TestUnlockHosts(t *testing.T) {
	at := func(t *testing.T, more string) *testkit.Desk {
		d := testkit.New(t)
		d.WithCode(more)
		must.Do(t, os.MkdirAll(filepath.Join(d.Repository, "ansible/playbooks"), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(d.Repository, "ansible/playbooks/site.yml"), nil, 0o600))
		return d
	}
	const deploys = testkit.TwoLayers + "deploy: {playbook: site.yml}\n"
	for name, c := range map[string]struct {
		more, layer, lockID string
		cluster             bool
		locked              []string // keys that somebody unknown holds
		says                string
		message, hint       string // empty: it is done
	}{
		"none":                {more: deploys, says: "net: not locked\napp: not locked\nthe hosts of test: not locked\n"},
		"no playbook":         {more: testkit.TwoLayers, says: "net: not locked\napp: not locked\n"},
		"one layer":           {more: deploys, layer: "app", locked: []string{"test/deploy.hosts"}, says: "app: not locked\n"},
		"of nobody known":     {more: deploys, locked: []string{"test/deploy.hosts"}, message: "the lock of the hosts of test is in no journal, so it is not known whether root@host is dead", hint: "dagger call unlock --env=test --lock-id=of test/deploy.hosts"},
		"that a person names": {more: deploys, lockID: "of test/deploy.hosts", locked: []string{"test/deploy.hosts"}, says: "the hosts of test: unlocked\n"},
		"of nodes":            {more: testkit.TwoLayers, cluster: true, lockID: "of test/cluster.nodes", locked: []string{"test/cluster.nodes"}, says: "app: not locked\nthe nodes of test: locked by root@host"},
		"and a layer":         {more: deploys, lockID: "of test/deploy.hosts", locked: []string{"test/net.tfstate", "test/deploy.hosts"}, says: "the hosts of test: unlocked\n", message: "but the lock's ID is of test/net.tfstate", hint: "--layer=net"},
	} {
		t.Run(name, func(t *testing.T) {
			d := at(t, c.more)
			if c.cluster {
				must.Do(t, os.WriteFile(filepath.Join(d.Repository, "environments/test/cluster.yaml"), nil, 0o600))
			}
			for _, key := range c.locked {
				d.Key = key
				d.LockAs("of " + key)
			}
			d.OnlyLayer = c.layer
			err := unlock(t.Context(), d.Opened(), c.lockID)
			if c.message != "" {
				must.Refuse(t, err, c.message, c.hint)
			} else {
				must.Do(t, err)
			}
			d.Says(c.says)
			if text := d.Text(); strings.Contains(text, "hosts") && !strings.Contains(c.says+c.message, "hosts") {
				t.Errorf("it says %q", text)
			}
			lock, err := d.Store.ReadLock(t.Context(), hold.Hosts(d.Run).Key)
			must.Do(t, err)
			if stays := len(c.locked) > 0 && c.lockID == ""; (lock != nil) != stays {
				t.Errorf("the lock is %+v", lock)
			}
		})
	}
}

// A layer whose lock is not removed, or that cannot be opened, is a failure.
func TestEachLayerRefused(t *testing.T) {
	for _, command := range []run.Command{Unlock(), Recover()} {
		d := testkit.New(t)
		d.WithCode(testkit.TwoLayers)
		d.Key = "test/net.tfstate"
		d.LockAs("laptop")
		must.Refuse(t, command.Run(t.Context(), d.Opened()), "the lock of net is in no journal", "dagger call unlock --env=test --layer=net --lock-id=laptop")
		d.Nowhere()
		if err := command.Run(t.Context(), d.Run); err == nil {
			t.Errorf("%s works nowhere", command.Name)
		}
	}
}

// Over HTTP, a lock is removed by its ID, one layer at a time; nothing else can be done with it.
func TestUnlockHTTP(t *testing.T) {
	testkit.WithoutTofu(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for name, c := range map[string]struct{ more, layer, lockID string }{
		"no ID":                   {},
		"an ID for two layers":    {more: testkit.TwoLayers, lockID: "laptop"},
		"no ID for one of two":    {more: testkit.TwoLayers, layer: "net"},
		"an ID":                   {lockID: "laptop"},
		"an ID for one of layers": {more: testkit.TwoLayers, layer: "net", lockID: "laptop"},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.Store = nil
			d.WithCodeOf("state:\n  http: {address: \"" + server.URL + "\"}\n" + c.more)
			d.OnlyLayer = c.layer
			err := unlock(t.Context(), d.Opened(), c.lockID)
			if c.lockID == "" || c.more != "" && c.layer == "" {
				must.Refuse(t, err, "over HTTP, a lock can only be removed by its ID, and one layer at a time", "--lock-id=<the ID that a refused apply names>")
			} else if !errors.Is(err, tofu.ErrNotStarted) || !strings.Contains(err.Error(), "not started: init") {
				t.Errorf("got %v", err)
			}
			d.Result.Stage = "recover"
			must.Refuse(t, recoverAll(t.Context(), d.Run, options{}), "recover needs a state in S3: over HTTP, locks cannot be read", "use the tools of the server at "+server.URL)
		})
	}
}
