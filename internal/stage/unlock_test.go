package stage

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/tofu"
)

// unlock shows the lock, and takes away that of a dead run. What is to be recovered of the run
// stays.
func TestUnlock(t *testing.T) {
	for name, c := range map[string]struct {
		before        func(d *Desk)
		message, hint string // empty: it is done
		says          []string
		lock          string // afterwards
	}{
		"no lock": {before: func(*Desk) {}, says: []string{"test: not locked\n"}},
		"of a dead run": {before: func(d *Desk) {
			d.Interrupted(journal.Header{ID: "dead", Lock: "of-dead"})
			d.LockAs("of-dead")
		}, says: []string{"test: locked by root@host since ", ", lock of-dead)\ntest: unlocked\n"}},
		"of nobody that is known": {before: func(d *Desk) { d.LockAs("laptop") }, message: "nothing shows that root@host is dead", hint: "--lock-id=laptop",
			says: []string{"test: locked by root@host since "}, lock: "laptop"},
		"beside one at work": {before: func(d *Desk) {
			d.Other(journal.Header{ID: "you", Stage: "apply", Lock: "of-you"})
			d.LockAs("of-you")
		}, message: "run you (apply, begun", hint: "wait until it ends", lock: "of-you"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			c.before(d)
			before := strings.Join(d.Journals(), " ")
			err := unlockLayer(t.Context(), d.Layer, "")
			if c.message != "" {
				Refuse(t, err, c.message, c.hint)
			} else {
				Do(t, err)
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
	d := New(t)
	d.LockAs("laptop")
	d.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if err := unlockLayer(t.Context(), d.Layer, ""); err == nil {
		t.Error("a store that refuses says that there is no lock")
	}
}

// One that is refused at once has never shown itself.
func TestAloneRefusedAtOnce(t *testing.T) {
	d := New(t)
	d.Other(journal.Header{ID: "you", Stage: "apply"})
	d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			t.Errorf("it writes %s", r.URL.Path)
		}
		return false
	}
	_, _, err := Alone(t.Context(), d.Layer)
	Refuse(t, err, "run you (apply, begun", "wait until it ends")
}

// The command names the layer only where there are several.
func TestCommand(t *testing.T) {
	for layers, want := range map[int]string{1: "dagger call recover --env=test", 2: "dagger call recover --env=test --layer=net"} {
		l := &Layer{Run: &Run{Options: Options{Env: "test"}, Environment: &environment.Environment{Layers: make([]environment.Layer, layers)}}, Name: "net"}
		if got := l.Call("recover"); got != want {
			t.Errorf("%d layers: %s", layers, got)
		}
	}
}

// unlock and recover look at each layer, and at the one that is named only.
func TestEachLayerUnlocked(t *testing.T) {
	for want, command := range map[string]Command{"not locked\n": Unlock(), "nothing was interrupted\n": Recover()} {
		for _, layer := range []string{"", "app"} {
			d := New(t)
			d.WithCode(TwoLayers)
			d.OnlyLayer = layer
			Do(t, command.Run(t.Context(), d.Opened()))
			d.Says("app: " + want)
			if text := d.Text(); strings.Contains(text, "net: "+want) != (layer == "") {
				t.Errorf("%s of %q says %q", command.Name, layer, text)
			}
		}
	}
}

// A layer whose lock is not taken away, or that cannot be opened, is no success.
func TestEachLayerRefused(t *testing.T) {
	for _, command := range []Command{Unlock(), Recover()} {
		d := New(t)
		d.WithCode(TwoLayers)
		d.Key = "test/net.tfstate"
		d.LockAs("laptop")
		Refuse(t, command.Run(t.Context(), d.Opened()), "no journal names the lock of net", "dagger call unlock --env=test --layer=net --lock-id=laptop")
		d.Nowhere()
		if err := command.Run(t.Context(), d.Layer.Run); err == nil {
			t.Errorf("%s works nowhere", command.Name)
		}
	}
}

// Over HTTP, a lock is taken away by its ID, of one layer at a time; nothing else can be done
// with it.
func TestUnlockHTTP(t *testing.T) {
	WithoutTofu(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for name, c := range map[string]struct{ more, layer, lockID string }{
		"no ID":                   {},
		"an ID for two layers":    {more: TwoLayers, lockID: "laptop"},
		"no ID for one of two":    {more: TwoLayers, layer: "net"},
		"an ID":                   {lockID: "laptop"},
		"an ID for one of layers": {more: TwoLayers, layer: "net", lockID: "laptop"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			d.Store = nil
			d.WithCodeOf("state:\n  http: {address: \"" + server.URL + "\"}\n" + c.more)
			d.OnlyLayer = c.layer
			err := unlock(t.Context(), d.Opened(), c.lockID)
			if c.lockID == "" || c.more != "" && c.layer == "" {
				Refuse(t, err, "over HTTP, a lock can only be taken away by its ID, and one layer at a time", "--lock-id=<the ID that a refused apply names>")
			} else if !errors.Is(err, tofu.ErrNotStarted) || !strings.Contains(err.Error(), "not started: init") {
				t.Errorf("got %v", err)
			}
			d.Result.Stage = "recover"
			Refuse(t, recoverAll(t.Context(), d.Layer.Run, recoverOptions{}), "recover needs a state in S3: over HTTP, locks cannot be read", "use the tools of the server at "+server.URL)
		})
	}
}
