package stage

import (
	"bytes"
	"errors"
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
	"slipway/internal/refusal"
	"slipway/internal/secrets"
	"slipway/internal/state"
)

const testKey = "test/test.tfstate"

// A desk is a root whose state is in a store in memory, for what needs no tofu.
type desk struct {
	*Layer
	t     *testing.T
	url   string                                            // of the store
	fault func(w http.ResponseWriter, r *http.Request) bool // says whether it answered
}

// newDesk is that of run "me", whose stage is apply.
func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t}
	s3 := gofakes3.New(s3mem.New()).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.fault == nil || !d.fault(w, r) {
			s3.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	d.url = server.URL
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	identity, err := secrets.ParseIdentity(key.String())
	if err != nil {
		t.Fatal(err)
	}
	r := New(Command{Name: "apply", Opens: State}, Options{
		Env: "test", ID: "me", Beat: journal.DefaultBeat, DeadAfter: time.Minute,
		Work: t.TempDir(), Out: t.TempDir(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
	})
	r.Environment = &environment.Environment{Name: "test", Layers: []environment.Layer{{Path: "."}}}
	r.Identity, r.Recipients = identity, identity.Recipients()
	r.Store = state.Open(state.S3{Bucket: "state", Endpoint: server.URL, Region: "us-east-1", AccessKey: "key", SecretKey: "secret"})
	bucket, err := http.NewRequest(http.MethodPut, server.URL+"/state", nil)
	must(t, err)
	response, err := http.DefaultClient.Do(bucket)
	must(t, err)
	must(t, response.Body.Close())
	d.Layer = &Layer{Run: r, Name: "test", Key: testKey, Row: &LayerResult{}, Dir: t.TempDir()}
	return d
}

// opened is the desk's run with its environment opened.
func (d *desk) opened() *Run {
	d.t.Helper()
	must(d.t, d.Open(d.t.Context()))
	return d.Layer.Run
}

// other has another run on the same state.
func (d *desk) other(run journal.Header) *journal.Writer {
	d.t.Helper()
	if run.Started.IsZero() {
		run.Started = time.Now()
	}
	w, err := journal.Open(d.t.Context(), d.Store, d.Recipients, d.Key, run, journal.DefaultBeat, func(err error) { d.t.Error(err) })
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(w.Stop)
	return w
}

// interrupted has another run that ended without having finished.
func (d *desk) interrupted(run journal.Header) {
	d.t.Helper()
	if err := d.other(run).Abandon(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) locked(id string) {
	d.t.Helper()
	if other, err := d.Store.Lock(d.t.Context(), d.Key, state.Lock{ID: id, Who: "root@host", Created: time.Now()}); err != nil || other != nil {
		d.t.Fatal(other, err)
	}
}

func (d *desk) lockID() string {
	d.t.Helper()
	lock, err := d.Store.ReadLock(d.t.Context(), d.Key)
	if err != nil {
		d.t.Fatal(err)
	}
	if lock == nil {
		return ""
	}
	return lock.ID
}

func (d *desk) journals() (keys []string) {
	d.t.Helper()
	objects, err := d.Store.List(d.t.Context(), "journal/")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, o := range objects {
		keys = append(keys, strings.TrimPrefix(o.Key, "journal/"+d.Key+"/"))
	}
	return keys
}

// refuses fails unless err is a refusal with that sentence and that hint.
func refuses(t *testing.T, err error, message, hint string) {
	t.Helper()
	var r *refusal.Error
	if !errors.As(err, &r) || !strings.Contains(r.Message, message) || !strings.Contains(r.Hint, hint) {
		t.Errorf("got %v (%+v), want %q, hint %q", err, r, message, hint)
	}
}

// fails wants an error that says all of these.
func fails(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Error("it does not fail")
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("it does not say %q: %v", text, err)
		}
	}
}

// text is the report, unmasked.
func (d *desk) text() string { return d.Report.Masked(func(text string) string { return text }) }

// says fails the test unless the report has that text.
func (d *desk) says(want string) {
	d.t.Helper()
	if text := d.text(); !strings.Contains(text, want) {
		d.t.Errorf("it does not say %q: %s", want, text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
