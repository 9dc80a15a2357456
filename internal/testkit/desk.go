// Package testkit contains what the tests of several packages share: a layer whose state is in an
// in-memory store, with and without the real OpenTofu, and a simulated cloud. Only tests import it.
package testkit

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/testkit/memory"
)

const Key = "test/test.tfstate"

// A Desk is a root module whose state is in an in-memory store, for tests that need no tofu.
type Desk struct {
	*layer.Layer
	T     *testing.T
	URL   string                                            // URL of the store, if it has one
	Fault func(w http.ResponseWriter, r *http.Request) bool // reports whether it has responded
}

// New returns a desk of run "me", whose stage is apply.
func New(t *testing.T) *Desk {
	t.Helper()
	d := &Desk{T: t}
	server := httptest.NewServer(d.store())
	t.Cleanup(server.Close)
	d.URL = server.URL
	d.furnish(state.S3{Endpoint: server.URL})
	return d
}

// NewInMemory is New for a test whose clock is testing/synctest's.
func NewInMemory(t *testing.T) *Desk {
	t.Helper()
	d := &Desk{T: t}
	d.furnish(state.S3{Endpoint: "http://store.invalid", Transport: memory.Transport(d.store())})
	return d
}

// store is the store's side, with the desk's faults.
func (d *Desk) store() http.Handler {
	s3 := gofakes3.New(s3mem.New()).Server()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.Fault == nil || !d.Fault(w, r) {
			s3.ServeHTTP(w, r)
		}
	})
}

func (d *Desk) furnish(store state.S3) {
	t := d.T
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	identity, err := secrets.ParseIdentity(key.String())
	if err != nil {
		t.Fatal(err)
	}
	r := run.New(run.Command{Name: "apply", Opens: run.State, ByLayer: true}, run.Options{
		Env: "test", ID: "me", Beat: journal.DefaultBeat, DeadAfter: time.Minute,
		Work: t.TempDir(), Out: t.TempDir(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
	})
	r.Environment = &environment.Environment{Name: "test", Layers: []environment.Layer{{Path: "."}}}
	r.Identity, r.Recipients = identity, identity.Recipients()
	store.Bucket, store.Region, store.AccessKey, store.SecretKey = "state", "us-east-1", "key", "secret"
	r.Store = state.Open(store)
	bucket, err := http.NewRequestWithContext(t.Context(), http.MethodPut, store.Endpoint+"/state", nil)
	must.Do(t, err)
	response, err := (&http.Client{Transport: store.Transport}).Do(bucket)
	must.Do(t, err)
	must.Do(t, response.Body.Close())
	d.Layer = &layer.Layer{Run: r, Config: r.Environment.Layers[0], Name: "test", Key: Key, Row: &run.LayerResult{}, Dir: t.TempDir()}
}

// Opened returns the desk's run with its environment opened.
func (d *Desk) Opened() *run.Run {
	d.T.Helper()
	must.Do(d.T, d.Open(d.T.Context()))
	return d.Run
}

// Other starts another run on the same state.
func (d *Desk) Other(run journal.Header) *journal.Writer {
	d.T.Helper()
	if run.Started.IsZero() {
		run.Started = time.Now()
	}
	w, err := journal.Open(d.T.Context(), d.Store, d.Recipients, d.Key, run, journal.DefaultBeat, func(err error) { d.T.Error(err) })
	if err != nil {
		d.T.Fatal(err)
	}
	d.T.Cleanup(w.Stop)
	return w
}

// Interrupted leaves another run on the state that was interrupted.
func (d *Desk) Interrupted(run journal.Header) {
	d.T.Helper()
	if err := d.Other(run).Abandon(d.T.Context()); err != nil {
		d.T.Fatal(err)
	}
}

func (d *Desk) LockAs(id string) {
	d.T.Helper()
	if other, err := d.Store.Lock(d.T.Context(), d.Key, state.Lock{ID: id, Who: "root@host", Created: time.Now()}); err != nil || other != nil {
		d.T.Fatal(other, err)
	}
}

func (d *Desk) LockID() string {
	d.T.Helper()
	lock, err := d.Store.ReadLock(d.T.Context(), d.Key)
	if err != nil {
		d.T.Fatal(err)
	}
	if lock == nil {
		return ""
	}
	return lock.ID
}

func (d *Desk) Journals() (keys []string) {
	d.T.Helper()
	objects, err := d.Store.List(d.T.Context(), "journal/")
	if err != nil {
		d.T.Fatal(err)
	}
	for _, o := range objects {
		keys = append(keys, strings.TrimPrefix(o.Key, "journal/"+d.Key+"/"))
	}
	return keys
}

// Text returns the report, unmasked.
func (d *Desk) Text() string { return d.Report.Masked(func(text string) string { return text }) }

// Says fails the test unless the report contains that text.
func (d *Desk) Says(want string) {
	d.T.Helper()
	if text := d.Text(); !strings.Contains(text, want) {
		d.T.Errorf("it does not say %q: %s", want, text)
	}
}
