package journal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/testkit/memory"
)

const net = "test/net.tfstate"

// A place is a store in memory and who can read the journals in it.
type place struct {
	*state.Store
	t        *testing.T
	identity secrets.Identity
	fault    atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool] // says whether it answered
}

func newPlace(t *testing.T) *place {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t}
	if p.identity, err = secrets.ParseIdentity(key.String()); err != nil {
		t.Fatal(err)
	}
	s3 := gofakes3.New(s3mem.New()).Server()
	transport := memory.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := p.fault.Load(); fault == nil || !(*fault)(w, r) {
			s3.ServeHTTP(w, r)
		}
	}))
	p.Store = state.Open(state.S3{Bucket: "state", Endpoint: "http://store.invalid", Region: "us-east-1", AccessKey: "key", SecretKey: "secret", Transport: transport})
	if _, err := p.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) failing(fault func(w http.ResponseWriter, r *http.Request) bool) {
	p.fault.Store(&fault)
}

// open begins the journal of a run that nothing happens to.
func (p *place) open(stateKey, id string) *Writer {
	p.t.Helper()
	w, err := Open(p.t.Context(), p.Store, p.identity.Recipients(), stateKey, Header{ID: id, Stage: "apply", Started: time.Now().UTC(), Lock: "lock-" + id},
		DefaultBeat, func(err error) { p.t.Error(err) })
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(w.Stop)
	return w
}

// watched begins the journal of run "one", and passes on why it fails.
func (p *place) watched() (w *Writer, told <-chan error) {
	p.t.Helper()
	failures := make(chan error, 1)
	w, err := Open(p.t.Context(), p.Store, p.identity.Recipients(), net, Header{ID: "one", Started: time.Now(), Lock: "lock-one"}, DefaultBeat, func(err error) { failures <- err })
	must(p.t, err)
	return w, failures
}

func (p *place) runs(stateKey string) []Run {
	p.t.Helper()
	runs, err := Runs(p.t.Context(), p.Store, p.identity, stateKey)
	if err != nil {
		p.t.Fatal(err)
	}
	return runs
}

func (p *place) keys() (keys []string) {
	p.t.Helper()
	objects, err := p.List(p.t.Context(), "journal/")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, o := range objects {
		keys = append(keys, o.Key)
	}
	return keys
}

func (p *place) write(key string, entries ...string) {
	p.t.Helper()
	data := []byte("sign\n")
	if strings.HasSuffix(key, ".age") {
		var err error
		if data, err = secrets.Envelope([]byte(strings.Join(entries, "\n")+"\n"), p.identity.Recipients()); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := p.Write(p.t.Context(), key, data); err != nil {
		p.t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Of journals that are sealed to others, it is known that their runs are active. Who has to read them is told which
// one cannot be read.
func TestSealedToOthers(t *testing.T) {
	p := newPlace(t)
	p.open(net, "one")
	p.open(net, "two")
	other := newPlace(t).identity
	runs, err := Seen(t.Context(), p.Store, other, net)
	must(t, err)
	if len(runs) != 2 {
		t.Fatalf("got %+v", runs)
	}
	for _, r := range runs {
		if !r.Sealed || r.Over() || !r.Live(time.Hour) {
			t.Errorf("got %+v", r)
		}
	}
	if _, err := Runs(t.Context(), p.Store, other, net); !errors.Is(err, secrets.ErrOthers) || !strings.HasPrefix(err.Error(), "read the journal of run one: ") {
		t.Errorf("got %v", err)
	}
}

// A run is active from its first object on, and each way to end it leaves the right marks.
func TestRun(t *testing.T) {
	p := newPlace(t)
	w := p.open(net, "one")
	run := p.runs(net)[0]
	if !run.Live(DeadAfter) || run.Over() || run.ID != "one" || run.Stage != "apply" || !run.Holds(state.Lock{ID: "lock-one"}) {
		t.Errorf("active: %+v", run)
	}
	if run.Live(0) {
		t.Error("silent for as long as it takes to be dead, and alive")
	}
	if run.Holds(state.Lock{ID: "lock-two"}) || run.Holds(state.Lock{}) {
		t.Error("it holds the lock of another")
	}
	w.Add(Entry{Kind: Start, Address: "a.b", Action: "create"})
	must(t, w.Abandon(t.Context()))
	run = p.runs(net)[0]
	if run.Live(DeadAfter) || run.Over() || len(run.Entries) != 2 || run.Entries[1].Address != "a.b" {
		t.Errorf("left for recover: %+v", run)
	}
	must(t, Remove(t.Context(), p.Store, run))
	if keys := p.keys(); len(keys) > 0 {
		t.Errorf("after it: %q", keys)
	}

	w = p.open(net, "two")
	must(t, w.Finish(t.Context()))
	if run := p.runs(net)[0]; !run.Over() || run.Live(DeadAfter) || len(run.Entries) > 0 {
		t.Errorf("ended cleanly: %+v", run)
	}
	if run := (Run{Entries: []Entry{{Kind: Begin}}, marks: []string{finished}}); !run.Over() {
		t.Error("it is marked as finished, and not over")
	}
	must(t, w.Remove(t.Context()))
	if keys := p.keys(); len(keys) > 0 {
		t.Errorf("after it: %q", keys)
	}
}

// Whichever of its writes and deletes is a run's last, what it leaves is either not there,
// litter, or a journal that has its header.
func TestRunKilledAnywhere(t *testing.T) {
	for last := 0; ; last++ {
		p := newPlace(t)
		n, begun, over := 0, false, false
		var lock sync.Mutex // the entries are written beside the signs of life
		p.failing(func(w http.ResponseWriter, r *http.Request) bool {
			lock.Lock()
			defer lock.Unlock()
			if r.Method != http.MethodPut && r.Method != http.MethodDelete {
				return false
			}
			if n++; n > last {
				w.WriteHeader(http.StatusForbidden) // as good as dead
				return true
			}
			begun = true
			over = over || strings.HasSuffix(r.URL.Path, "/"+finished)
			return false
		})
		w, err := Open(t.Context(), p.Store, p.identity.Recipients(), net, Header{ID: "one", Started: time.Now(), Lock: "lock"}, DefaultBeat, func(error) {})
		if err == nil {
			w.Add(Entry{Kind: Start, Address: "a.b", Action: "create"})
			_ = w.sign(t.Context())
			if err = w.Finish(t.Context()); err == nil {
				err = w.Remove(t.Context())
			}
			w.Stop()
		}
		p.failing(func(http.ResponseWriter, *http.Request) bool { return false })
		for _, run := range p.runs(net) {
			if run.Over() != over {
				t.Errorf("killed after %d requests: over is %v of %+v", last, run.Over(), run)
			}
			if !over && !run.Holds(state.Lock{ID: "lock"}) {
				t.Errorf("killed after %d requests: the lock is nobody's", last)
			}
		}
		if begun && !over && len(p.runs(net)) != 1 {
			t.Errorf("killed after %d requests: %d runs", last, len(p.runs(net)))
		}
		if err == nil {
			if last < 5 {
				t.Errorf("only %d requests", last)
			}
			return
		}
	}
}

// A journal with only the sign of life left belongs to nobody and holds no lock.
func TestSignAlone(t *testing.T) {
	p := newPlace(t)
	p.write("journal/test/net.tfstate/one/alive")
	p.write("journal/test/net/two/alive")
	for _, run := range p.runs(net) {
		if !run.Over() || run.Live(DeadAfter) || run.Holds(state.Lock{ID: "any", Who: "root@host"}) {
			t.Errorf("%+v", run)
		}
	}
}

// A layer below another in the same folder has its own journals, in both versions, and so has a
// deploy, whose folder is the same in both.
func TestLayersBelow(t *testing.T) {
	p := newPlace(t)
	for key, id := range map[string]string{net: "new", "test/net/sub.tfstate": "newer", "test/deploy.hosts": "deploy"} {
		must(t, p.open(key, id).Abandon(t.Context()))
	}
	begin := `{"kind":"begin","time":"2026-11-21T10:00:00Z","run":{"version":1,"id":"%s","stage":"apply","started":"2026-11-21T10:00:00Z"}}`
	p.write("journal/test/net/old/00000.age", fmt.Sprintf(begin, "old"))
	p.write("journal/test/net/sub/older/00000.age", fmt.Sprintf(begin, "older"))
	for key, want := range map[string][]string{net: {"old", "new"}, "test/net/sub.tfstate": {"older", "newer"}, "test/deploy.hosts": {"deploy"}} {
		var got []string
		for _, run := range p.runs(key) {
			got = append(got, run.ID)
			must(t, Remove(t.Context(), p.Store, run))
		}
		if !slices.Equal(got, want) {
			t.Errorf("runs on %s: %q, want %q", key, got, want)
		}
	}
	if keys := p.keys(); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
}

// Version 1 told its lock in an entry, if at all, and took its sign away when it ended
// itself.
func TestVersion1(t *testing.T) {
	p := newPlace(t)
	begin := `{"kind":"begin","time":"2026-11-21T10:00:00Z","run":{"version":1,"id":"old","stage":"apply","holder":"@host","started":"2026-11-21T10:00:00Z"}}`
	p.write("journal/test/net/old/00000.age", begin)
	p.write("journal/test/net/old/alive")
	run := p.runs(net)[0]
	if !run.Live(DeadAfter) || run.Holds(state.Lock{ID: "l", Who: "root@host", Created: time.Now()}) {
		t.Errorf("without a lock: %+v", run)
	}
	p.write("journal/test/net/old/00002.age", `{"kind":"start","time":"2026-11-21T10:00:02Z","address":"a.b","lock":"m"}`)
	p.write("journal/test/net/old/00001.age", `{"kind":"locked","time":"2026-11-21T10:00:01Z","lock":"l"}`)
	must(t, p.Remove(t.Context(), "journal/test/net/old/alive"))
	run = p.runs(net)[0]
	if run.Live(DeadAfter) || run.Over() || !run.Holds(state.Lock{ID: "l"}) || run.Holds(state.Lock{ID: "m"}) {
		t.Errorf("with a lock: %+v", run)
	}
}

// A run's silence is the age of its newest object. A folder that does not belong to a run is
// ignored.
func TestSilenceOfARun(t *testing.T) { synctest.Test(t, testSilenceOfARun) }

func testSilenceOfARun(t *testing.T) {
	p := newPlace(t)
	p.write("journal/test/net.tfstate/one/00000.age", `{"kind":"begin","time":"2026-11-21T10:00:00Z","run":{"version":2,"id":"another"}}`)
	time.Sleep(3 * time.Second) // ages count whole seconds
	p.write("journal/test/net.tfstate/one/alive")
	p.write("journal/test/net.tfstate/stray")
	runs := p.runs(net)
	if len(runs) != 1 || runs[0].Silent() > time.Second || !runs[0].Live(2*time.Second) {
		t.Errorf("%+v", runs)
	}
	if runs[0].ID != "one" || runs[0].Version != 0 {
		t.Errorf("it goes by the header of another: %+v", runs[0].Header)
	}
}

// A run that is called as an earlier one does not write over its journal.
func TestSameName(t *testing.T) {
	p := newPlace(t)
	w := p.open(net, "one")
	w.Add(Entry{Kind: Start, Address: "a.b", Action: "create"})
	must(t, w.Abandon(t.Context()))
	_, err := Open(t.Context(), p.Store, p.identity.Recipients(), net, Header{ID: "one"}, DefaultBeat, func(error) {})
	if err == nil || !strings.Contains(err.Error(), "a run of this name already exists") {
		t.Errorf("got %v", err)
	}
	if run := p.runs(net)[0]; len(run.Entries) != 2 || run.Version != 2 {
		t.Errorf("%+v", run)
	}
}

// A run that has ended cleanly releases its lock, and that does not count as losing it.
func TestFinishedRunLosesNoLock(t *testing.T) { synctest.Test(t, testFinishedRunLosesNoLock) }

func testFinishedRunLosesNoLock(t *testing.T) {
	p := newPlace(t)
	w := p.open(net, "one")
	_, err := p.Lock(t.Context(), net, state.Lock{ID: "lock-one"})
	must(t, err)
	time.Sleep(5 * DefaultBeat.Every) // it has the lock, and does not know yet
	w.Locked()
	must(t, w.Finish(t.Context()))
	must(t, p.Unlock(t.Context(), net, "lock-one"))
	time.Sleep(5 * DefaultBeat.Every)
	must(t, w.Remove(t.Context()))
	time.Sleep(5 * DefaultBeat.Every) // it signs no more
	if keys := p.keys(); len(keys) > 0 {
		t.Errorf("left: %q", keys)
	}
}

// A lock that cannot be read does not count as lost.
func TestLockThatCannotBeRead(t *testing.T) { synctest.Test(t, testLockThatCannotBeRead) }

func testLockThatCannotBeRead(t *testing.T) {
	p := newPlace(t)
	w := p.open(net, "one")
	p.failing(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.Method == http.MethodGet
	})
	w.Locked()
	time.Sleep(10 * DefaultBeat.Every)
	must(t, w.Abandon(t.Context()))
}

// The order of runs is that of their start, whatever their IDs.
func TestOrder(t *testing.T) {
	p := newPlace(t)
	for i, id := range []string{"z", "m", "a"} {
		w, err := Open(t.Context(), p.Store, p.identity.Recipients(), net, Header{ID: id, Started: time.Unix(int64(1000+i), 0)}, DefaultBeat, func(error) {})
		must(t, err)
		must(t, w.Abandon(t.Context()))
	}
	// One that went on writing after somebody had taken its journal away.
	p.write("journal/test/net.tfstate/k/00007.age", `{"kind":"complete","time":"1970-01-01T00:16:41.5Z","address":"a.b","action":"create","id":"1"}`)
	var got []string
	for _, run := range p.runs(net) {
		got = append(got, run.ID)
		if run.Over() {
			t.Errorf("%s is over", run.ID)
		}
	}
	if want := []string{"z", "m", "k", "a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func isAlive(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/"+alive)
}

// A run that cannot write signs of life must stop before others consider it dead, even if the store
// never responds instead of failing.
func TestSilence(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"refused": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"hung":    func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace(t)
				w, told := p.watched()
				begin := time.Now()
				p.failing(func(w http.ResponseWriter, r *http.Request) bool {
					if isAlive(r) {
						answer(w, r)
					}
					return isAlive(r)
				})
				if err := <-told; !errors.Is(err, ErrSilent) {
					t.Errorf("told %v", err)
				}
				if d := time.Since(begin); d < DefaultBeat.GiveUp || d > DeadAfter-10*time.Second {
					t.Errorf("told after %s, and others consider it dead after %s", d, DeadAfter)
				}
				p.failing(func(http.ResponseWriter, *http.Request) bool { return false })
				must(t, w.Abandon(t.Context()))
			})
		})
	}
}

// A run goes on while the store takes its signs, each later than the one before.
func TestSigns(t *testing.T) { synctest.Test(t, testSigns) }

func testSigns(t *testing.T) {
	p := newPlace(t)
	var signs atomic.Int32
	p.failing(func(_ http.ResponseWriter, r *http.Request) bool {
		if isAlive(r) {
			signs.Add(1)
		}
		return false
	})
	w := p.open(net, "one")
	first := w.TrustedUntil()
	time.Sleep(5*DefaultBeat.Every + time.Second)
	must(t, w.Abandon(t.Context()))
	if n, later := signs.Load(), w.TrustedUntil().Sub(first); n != 5 || later != 5*DefaultBeat.Every {
		t.Errorf("%d signs, and it is trusted for %s longer", n, later)
	}
}

// A run whose lock is gone or taken is told so by an error.
func TestLostLock(t *testing.T) {
	for name, c := range map[string]struct {
		lock string // that is there instead; empty: none
		want error
	}{"removed": {"", ErrUnlocked}, "another's": {"lock-two", ErrDeposed}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace(t)
				w, told := p.watched()
				_, err := p.Lock(t.Context(), net, state.Lock{ID: "lock-one"})
				must(t, err)
				w.Locked()
				time.Sleep(5*DefaultBeat.Every + time.Second)
				select {
				case err := <-told:
					t.Fatalf("told %v", err)
				default:
				}
				must(t, p.Unlock(t.Context(), net, "lock-one"))
				if c.lock != "" {
					_, err = p.Lock(t.Context(), net, state.Lock{ID: c.lock})
					must(t, err)
				}
				if err := <-told; !errors.Is(err, c.want) {
					t.Errorf("told %v", err)
				}
				must(t, w.Abandon(t.Context()))
			})
		})
	}
}

// What cannot be kept stops the run; what was not kept is in the last attempt.
func TestEntriesThatAreNotKept(t *testing.T) { synctest.Test(t, testEntriesThatAreNotKept) }

func testEntriesThatAreNotKept(t *testing.T) {
	p := newPlace(t)
	w, told := p.watched()
	p.failing(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	w.Add(Entry{Kind: Start, Address: "a.b", Action: "create"})
	if err := <-told; !strings.Contains(err.Error(), "write the journal") {
		t.Errorf("told %v", err)
	}
	p.failing(func(http.ResponseWriter, *http.Request) bool { return false })
	must(t, w.Abandon(context.WithoutCancel(t.Context())))
	if run := p.runs(net)[0]; len(run.Entries) != 2 || run.Entries[1].Address != "a.b" {
		t.Errorf("%+v", run.Entries)
	}
}

// The journal of a deploy has the same folder in both versions. Each run in it is read once.
func TestRunsOfADeploy(t *testing.T) {
	p := newPlace(t)
	p.open("test/deploy.hosts", "one")
	p.open("test/deploy.hosts", "two")
	var ids []string
	for _, run := range p.runs("test/deploy.hosts") {
		ids = append(ids, run.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"one", "two"}) {
		t.Errorf("it reads %q", ids)
	}
}

// A fact that is kept is in the store when Keep returns. If the store does not take it, Keep fails.
func TestKeep(t *testing.T) {
	p := newPlace(t)
	w, told := p.watched()
	w.Add(Entry{Kind: Start, Address: "a"})
	must(t, w.Keep(t.Context(), Entry{Kind: Start, Address: "b"}))
	if got := names(p.runs(net)[0].Entries); len(got) != 3 { // with the beginning
		t.Errorf("in the store: %q", got)
	}
	p.failing(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { cancel(<-told) }()
	if err := w.Keep(ctx, Entry{Kind: Start, Address: "c"}); err == nil {
		t.Error("it is not in the store, and nobody says so")
	}
	p.failing(func(http.ResponseWriter, *http.Request) bool { return false })
	must(t, w.Abandon(t.Context()))
	if got := names(p.runs(net)[0].Entries); len(got) != 4 {
		t.Errorf("in the store at the end: %q", got)
	}
}
