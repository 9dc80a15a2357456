package hold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"slipway/internal/confine"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/testkit"
)

// A run that this program itself ends says why; that it was asked to stop is said elsewhere.
func TestWhyItEnds(t *testing.T) {
	lost := errors.New("the lock is gone")
	for name, c := range map[string]struct {
		end  func(stop context.CancelCauseFunc)
		want error
	}{
		"it goes on":      {func(context.CancelCauseFunc) {}, nil},
		"asked to stop":   {func(stop context.CancelCauseFunc) { stop(nil) }, nil},
		"out of time":     {func(stop context.CancelCauseFunc) { stop(context.DeadlineExceeded) }, nil},
		"by a signal":     {func(stop context.CancelCauseFunc) { stop(errors.New("interrupt signal received")) }, nil},
		"by its own loss": {func(stop context.CancelCauseFunc) { stop(lossError{lost}) }, lost},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		c.end(stop)
		if err := Stopped(ctx); err != c.want { //nolint:errorlint // the very same
			t.Errorf("%s: %v", name, err)
		}
		stop(nil)
	}
}

// A run whose lock is gone ends, and one whose lock another has kills tofu, which would
// write over that one's work.
func TestHoldLost(t *testing.T) {
	for name, c := range map[string]struct {
		lost func(d *testkit.Desk, id string) error
		want error
		kill bool
	}{
		"removed": {func(d *testkit.Desk, id string) error { return d.Store.Unlock(d.T.Context(), d.Key, id) }, journal.ErrUnlocked, false},
		"taken by another": {func(d *testkit.Desk, _ string) error {
			return d.Store.Write(d.T.Context(), d.Key+".tflock", []byte(`{"ID":"laptop","Who":"root@host"}`))
		}, journal.ErrDeposed, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := testkit.NewInMemory(t)
				working, h, err := Take(t.Context(), subject(d))
				must.Do(t, err)
				must.Do(t, c.lost(d, h.Lock.ID))
				<-working.Done()
				if cause := context.Cause(working); !errors.Is(cause, c.want) || errors.Is(cause, confine.ErrKill) != c.kill {
					t.Errorf("it ends by %v", cause)
				}
				must.Do(t, h.End(t.Context(), true))

				// The work may have ended well all the same, or with this error.
				for _, told := range []bool{false, true} {
					d := testkit.NewInMemory(t)
					err := Replace(t.Context(), subject(d), "", func(working context.Context, h *Hold, _ Others) (bool, error) {
						must.Do(t, c.lost(d, h.Lock.ID))
						<-working.Done()
						if told {
							return true, Stopped(working)
						}
						return true, nil
					})
					if n := strings.Count(fmt.Sprint(err), c.want.Error()); !errors.Is(err, c.want) || n != 1 {
						t.Errorf("it ends with %v", err)
					}
				}
			})
		})
	}
}

// A run that the store no longer answers ends and says why, although the last error is that of a
// request that timed out.
func TestHoldUnanswered(t *testing.T) { synctest.Test(t, testHoldUnanswered) }

func testHoldUnanswered(t *testing.T) {
	d := testkit.NewInMemory(t)
	var silent atomic.Bool
	d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if !silent.Load() || !strings.HasSuffix(r.URL.Path, "/alive") {
			return false
		}
		<-r.Context().Done()
		return true
	}
	working, h, err := Take(t.Context(), subject(d))
	must.Do(t, err)
	silent.Store(true)
	<-working.Done()
	if err := Stopped(working); !errors.Is(err, journal.ErrSilent) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it says %v", err)
	}
	silent.Store(false)
	must.Do(t, h.End(t.Context(), true))
}

// A run that was asked to stop still releases its lock.
func TestHoldEndsInTheEnd(t *testing.T) {
	d := testkit.New(t)
	ctx, stop := context.WithCancel(t.Context())
	_, h, err := Take(ctx, subject(d))
	must.Do(t, err)
	stop()
	must.Do(t, h.End(ctx, true))
	if id, keys := d.LockID(), d.Journals(); id != "" || len(keys) > 0 {
		t.Errorf("the lock is %q, and there is %q", id, keys)
	}
}

// A run whose journal cannot be opened does not begin.
func TestBeginFails(t *testing.T) {
	d := testkit.New(t)
	d.Recipients = nil
	if working, h, err := Take(t.Context(), subject(d)); err == nil || working != nil || h != nil || d.LockID() != "" {
		t.Errorf("%v, %v, %v", working, h, err)
	}
}

// withOthers has a desk whose state knows another run of each kind.
func withOthers(d *testkit.Desk) {
	d.T.Helper()
	d.Other(journal.Header{ID: "me"})
	d.Other(journal.Header{ID: "live", Stage: "apply"})
	d.Interrupted(journal.Header{ID: "dead", Stage: "apply"})
	must.Do(d.T, d.Other(journal.Header{ID: "over"}).Finish(d.T.Context()))
}

// Other runs are active, were interrupted, or left litter; this run is not listed.
func TestOthers(t *testing.T) {
	d := testkit.New(t)
	withOthers(d)
	o, err := RunsOn(t.Context(), subject(d))
	must.Do(t, err)
	for want, got := range map[string][]journal.Run{"live": o.Live, "dead": o.Dead, "over": o.Over} {
		if len(got) != 1 || got[0].ID != want {
			t.Errorf("%s: %+v", want, got)
		}
	}
}

// A plan says what else happens to the state, and is made all the same.
func TestNoteRuns(t *testing.T) {
	d := testkit.New(t)
	said := func() string { return d.Stderr.(*bytes.Buffer).String() }
	must.Do(t, NoteRuns(t.Context(), subject(d)))
	if said() != "" {
		t.Errorf("of nobody it says %q", said())
	}
	withOthers(d)
	must.Do(t, NoteRuns(t.Context(), subject(d)))
	for _, want := range []string{
		"note: run live (apply, started ", " is changing test right now: the plan may already be out of date\n",
		"note: run dead (apply, started ", " was interrupted: before the next apply, run dagger call recover --env=test\n",
	} {
		if !strings.Contains(said(), want) {
			t.Errorf("it does not say %q: %s", want, said())
		}
	}
	if strings.Count(said(), "note: ") != 2 {
		t.Errorf("it says %q", said())
	}
	d.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if err := NoteRuns(t.Context(), subject(d)); err == nil {
		t.Error("a store that refuses says that nobody is there")
	}
	d.Store = nil
	must.Do(t, NoteRuns(t.Context(), subject(d))) // over HTTP, no run is known
}

// What was interrupted on nodes, the next apply repairs.
func TestNoteRunsOnNodes(t *testing.T) {
	d := testkit.New(t)
	nodes := Nodes(d.Run)
	d.Key = nodes.Key
	d.Interrupted(journal.Header{ID: "dead", Stage: "apply"})
	must.Do(t, NoteRuns(t.Context(), nodes))
	if said := d.Stderr.(*bytes.Buffer).String(); !strings.Contains(said, "note: run dead (apply, started ") || !strings.HasSuffix(said, "was interrupted: the next apply goes on from there\n") {
		t.Errorf("it says %q", said)
	}
	d.Interrupted(journal.Header{ID: "tool", Stage: "cluster-helm"})
	must.Do(t, NoteRuns(t.Context(), nodes))
	if said := d.Stderr.(*bytes.Buffer).String(); !strings.Contains(said, "note: run tool (cluster-helm, started ") || !strings.HasSuffix(said, "was interrupted, and may have done a part of its work\n") {
		t.Errorf("it says %q", said)
	}
}

// A change only starts if no other run is active, none was interrupted, and nobody holds the lock.
func TestRefuseRuns(t *testing.T) {
	for name, c := range map[string]struct {
		before        func(d *testkit.Desk)
		message, hint string // empty: it may begin
	}{
		"nobody":                {func(*testkit.Desk) {}, "", ""},
		"itself":                {func(d *testkit.Desk) { d.Other(journal.Header{ID: "me"}) }, "", ""},
		"an active run":         {func(d *testkit.Desk) { d.Other(journal.Header{ID: "you", Stage: "destroy"}) }, "the state of test is in use by run you (destroy, started", "dagger call unlock --env=test"},
		"one interrupted":       {func(d *testkit.Desk) { d.Interrupted(journal.Header{ID: "you", Stage: "apply"}) }, "run you (apply, started", "dagger call recover --env=test"},
		"one that has finished": {func(d *testkit.Desk) { must.Do(d.T, d.Other(journal.Header{ID: "you"}).Finish(d.T.Context())) }, "", ""},
		"a lock":                {func(d *testkit.Desk) { d.LockAs("laptop") }, "the state of test is locked by root@host", "dagger call unlock --env=test"},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			c.before(d)
			err := RefuseRuns(t.Context(), subject(d))
			if c.message != "" {
				must.Refuse(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	d := testkit.New(t)
	d.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if err := RefuseRuns(t.Context(), subject(d)); err == nil {
		t.Error("a store that refuses says that nobody is there")
	}
	d.Store = nil
	if err := RefuseRuns(t.Context(), subject(d)); err != nil {
		t.Errorf("over HTTP: %v", err)
	}
}

// To take the lock is to have written its ID into the journal before, and to have nobody
// beside oneself who takes locks away.
func TestTake(t *testing.T) {
	d := testkit.New(t)
	d.Creates, d.Replaces = []string{"a.b", "c.d"}, []string{"c.d"}
	named := ""
	d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".tflock") {
			runs, err := journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
			if err != nil || len(runs) != 1 {
				t.Fatal(runs, err)
			}
			named = runs[0].Lock
			if runs[0].Stage != "apply" || runs[0].Environment != "test" || runs[0].Layer != "test" || len(runs[0].Creates) != 2 || len(runs[0].Replaces) != 1 {
				t.Errorf("%+v", runs[0].Header)
			}
		}
		return false
	}
	ctx, h, err := Take(t.Context(), subject(d))
	must.Do(t, err)
	if id := d.LockID(); id == "" || id != named {
		t.Errorf("the lock is %q, and the journal named %q before", id, named)
	}
	lock, err := d.Store.ReadLock(t.Context(), d.Key)
	if err != nil || lock.Who != "slipway@me" || lock.Operation != "apply" {
		t.Errorf("%+v, %v", lock, err)
	}
	must.Do(t, h.End(ctx, true))
	if id, keys := d.LockID(), d.Journals(); id != "" || len(keys) > 0 {
		t.Errorf("after it, the lock is %q, and there is %q", id, keys)
	}
}

// After a run that did not end cleanly, its lock and its journal stay, and nobody else starts.
func TestTakeLeft(t *testing.T) {
	d := testkit.New(t)
	_, h, err := Take(t.Context(), subject(d))
	must.Do(t, err)
	must.Do(t, h.End(t.Context(), false))
	if id := d.LockID(); id != h.Lock.ID {
		t.Errorf("the lock is %q", id)
	}
	d.ID = "you"
	must.Refuse(t, RefuseRuns(t.Context(), subject(d)), "run me (apply, started", "dagger call recover")
	if _, _, err := Take(t.Context(), subject(d)); err == nil {
		t.Error("the next takes the lock")
	}
	if keys := strings.Join(d.Journals(), " "); strings.Contains(keys, "you") {
		t.Errorf("one that was refused leaves %s", keys)
	}
}

// A run that was refused the lock leaves neither a journal nor the lock, and does not touch
// that of another.
func TestTakeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(d *testkit.Desk)
		message string
		lock    string // afterwards
	}{
		"by a lock":                      {func(d *testkit.Desk) { d.LockAs("laptop") }, "is locked by root@host", "laptop"},
		"by one that takes locks away":   {func(d *testkit.Desk) { d.Other(journal.Header{ID: "you", Stage: "recover"}) }, "in use by run you (recover", ""},
		"by another that does":           {func(d *testkit.Desk) { d.Other(journal.Header{ID: "you", Stage: "unlock"}) }, "in use by run you (unlock", ""},
		"by one that was interrupted":    {func(d *testkit.Desk) { d.Interrupted(journal.Header{ID: "you", Stage: "apply"}) }, "was interrupted", ""},
		"not by one that waits likewise": {func(d *testkit.Desk) { d.Other(journal.Header{ID: "you", Stage: "apply"}) }, "", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			c.before(d)
			before := len(d.Journals())
			_, h, err := Take(t.Context(), subject(d))
			if c.message == "" {
				must.Do(t, err)
				if d.LockID() != h.Lock.ID {
					t.Error("it has not got the lock")
				}
				must.Do(t, h.End(t.Context(), true))
				return
			}
			must.Refuse(t, err, c.message, "")
			if id := d.LockID(); id != c.lock {
				t.Errorf("the lock is %q", id)
			}
			if now := len(d.Journals()); now != before {
				t.Errorf("there is %q", d.Journals())
			}
		})
	}
}

// A lock that cannot be given back at once is given back a moment later; one that is
// another's by then is left alone.
func TestGiveBack(t *testing.T) {
	d := testkit.New(t)
	_, h, err := Take(t.Context(), subject(d))
	must.Do(t, err)
	failures := 4 // more than the client tries by itself
	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, ".tflock") || failures == 0 {
			return false
		}
		failures--
		w.WriteHeader(http.StatusInternalServerError)
		return true
	}
	must.Do(t, h.End(t.Context(), true))
	if id := d.LockID(); id != "" {
		t.Errorf("the lock is %q", id)
	}
	d = testkit.New(t)
	_, h, err = Take(t.Context(), subject(d))
	must.Do(t, err)
	must.Do(t, d.Store.Unlock(t.Context(), d.Key, h.Lock.ID))
	d.LockAs("laptop")
	must.Do(t, h.End(t.Context(), true))
	if id := d.LockID(); id != "laptop" {
		t.Errorf("the lock is %q", id)
	}
}

// What is known of a run's files and of its identity follows its name.
func TestOrigin(t *testing.T) {
	for want, run := range map[string]journal.Header{
		"": {}, " of commit abc": {Commit: "abc"}, " by age1x": {Who: "age1x"}, " of commit abc by age1x": {Commit: "abc", Who: "age1x"},
	} {
		if got := Origin(journal.Run{Header: run}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
