package stage

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"slipway/internal/journal"
	"slipway/internal/tofu"
)

// A run whose lock is gone ends, and one whose lock another has kills tofu, which would
// write over that one's work.
func TestHoldLost(t *testing.T) {
	for name, c := range map[string]struct {
		lost func(d *Desk, id string) error
		want error
		kill bool
	}{
		"taken away": {func(d *Desk, id string) error { return d.Store.Unlock(t.Context(), d.Key, id) }, journal.ErrUnlocked, false},
		"taken by another": {func(d *Desk, _ string) error {
			return d.Store.Write(t.Context(), d.Key+".tflock", []byte(`{"ID":"laptop","Who":"root@host"}`))
		}, journal.ErrDeposed, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			d.Beat = journal.Beat{Every: 20 * time.Millisecond, GiveUp: time.Minute}
			working, h, err := Take(t.Context(), d.Layer)
			Do(t, err)
			Do(t, c.lost(d, h.Lock.ID))
			select {
			case <-working.Done():
			case <-time.After(10 * time.Second):
				t.Fatal("it goes on")
			}
			if cause := context.Cause(working); !errors.Is(cause, c.want) || errors.Is(cause, tofu.ErrKill) != c.kill {
				t.Errorf("it ends by %v", cause)
			}
			Do(t, h.End(t.Context(), true))
		})
	}
}

// A run that was asked to stop gives its lock back all the same.
func TestHoldEndsInTheEnd(t *testing.T) {
	d := New(t)
	ctx, stop := context.WithCancel(t.Context())
	_, h, err := Take(ctx, d.Layer)
	Do(t, err)
	stop()
	Do(t, h.End(ctx, true))
	if id, keys := d.LockID(), d.Journals(); id != "" || len(keys) > 0 {
		t.Errorf("the lock is %q, and there is %q", id, keys)
	}
}

// A run whose journal cannot be opened does not begin.
func TestBeginFails(t *testing.T) {
	d := New(t)
	d.Recipients = nil
	if working, h, err := Take(t.Context(), d.Layer); err == nil || working != nil || h != nil || d.LockID() != "" {
		t.Errorf("%v, %v, %v", working, h, err)
	}
}

// withOthers has a desk whose state knows another run of each kind.
func withOthers(d *Desk) {
	d.T.Helper()
	d.Other(journal.Header{ID: "me"})
	d.Other(journal.Header{ID: "live", Stage: "apply"})
	d.Interrupted(journal.Header{ID: "dead", Stage: "apply"})
	Do(d.T, d.Other(journal.Header{ID: "over"}).Finish(d.T.Context()))
}

// Other runs are at work, were interrupted, or left litter; this one is none of them.
func TestOthers(t *testing.T) {
	d := New(t)
	withOthers(d)
	o, err := RunsOn(t.Context(), d.Layer)
	Do(t, err)
	for want, got := range map[string][]journal.Run{"live": o.Live, "dead": o.Dead, "over": o.Over} {
		if len(got) != 1 || got[0].ID != want {
			t.Errorf("%s: %+v", want, got)
		}
	}
}

// A plan says what else happens to the state, and is made all the same.
func TestNoteRuns(t *testing.T) {
	d := New(t)
	said := func() string { return d.Stderr.(*bytes.Buffer).String() }
	Do(t, NoteRuns(t.Context(), d.Layer))
	if said() != "" {
		t.Errorf("of nobody it says %q", said())
	}
	withOthers(d)
	Do(t, NoteRuns(t.Context(), d.Layer))
	for _, want := range []string{
		"note: run live (apply, begun ", " is changing test right now: the plan may be out of date at once\n",
		"note: run dead (apply, begun ", " was interrupted: before the next apply, run dagger call recover --env=test\n",
	} {
		if !strings.Contains(said(), want) {
			t.Errorf("it does not say %q: %s", want, said())
		}
	}
	if strings.Count(said(), "note: ") != 2 {
		t.Errorf("it says %q", said())
	}
	d.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if err := NoteRuns(t.Context(), d.Layer); err == nil {
		t.Error("a store that refuses says that nobody is there")
	}
	d.Store = nil
	Do(t, NoteRuns(t.Context(), d.Layer)) // over HTTP, no run is known
}
