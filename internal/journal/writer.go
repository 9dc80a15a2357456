package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"slipway/internal/secrets"
	"slipway/internal/state"
)

// A Beat says how a run that is at work shows it.
type Beat struct {
	Every time.Duration // from one sign to the next; a sign may take as long
	// GiveUp is the time without a sign that the store took, after which the run must
	// stop: others will soon take it for dead.
	GiveUp time.Duration
}

// DefaultBeat leaves a run 10 seconds and more to stop before DeadAfter.
var DefaultBeat = Beat{Every: 10 * time.Second, GiveUp: 40 * time.Second}

// What a Writer's failed is called with, beside errors of the store.
var (
	// ErrSilent says that others will soon take the run for dead.
	ErrSilent = errors.New("the store has not taken a sign of life for too long: others will take this run for dead")
	// ErrUnlocked says that somebody took the run's lock away; nobody has it now.
	ErrUnlocked = errors.New("the lock of this run was taken away")
	// ErrDeposed says that another holds the lock by now, and changes the state.
	ErrDeposed = errors.New("another run has taken the lock of this one")
)

// A Writer writes the journal of one run.
type Writer struct {
	store    *state.Store
	seal     []string // age recipients
	stateKey string
	folder   string
	lockID   string

	lock    sync.Mutex
	waiting []Entry
	wake    chan struct{}
	keys    []string // written so far; used by one goroutine at a time

	beat     Beat
	lastSign atomic.Pointer[time.Time]
	held     atomic.Bool        // the lock is ours, so somebody may take it away
	stop     context.CancelFunc // ends the heartbeat
	writing  sync.WaitGroup
	beating  sync.WaitGroup
	once     sync.Once
	failed   func(error)
}

// Open begins the journal of a run on a state: when it returns, others can see that
// the run is at work and which lock it will have. Should an entry not be kept later on,
// or the run be taken for dead or lose its lock, failed is called once: the run must
// then stop, because it could no longer be recovered.
func Open(ctx context.Context, store *state.Store, recipients []string, stateKey string, run Header, beat Beat, failed func(error)) (*Writer, error) {
	run.Version = 2
	w := &Writer{
		store: store, seal: recipients, stateKey: stateKey, folder: folder(stateKey) + run.ID + "/", lockID: run.Lock,
		waiting: []Entry{{Kind: Begin, Time: run.Started, Run: &run}},
		wake:    make(chan struct{}, 1), beat: beat,
		failed: failed,
	}
	began := time.Now()
	if err := w.flush(ctx); err != nil {
		return nil, err
	}
	w.lastSign.Store(&began)
	// The run goes on, and so does its journal, when its caller asks it to stop.
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	w.writing.Go(func() {
		for range w.wake {
			if err := w.flush(lasting); err != nil {
				w.fail(err)
				return
			}
		}
	})
	w.beating.Go(func() { w.keepBeating(lasting) })
	return w, nil
}

// Locked tells the journal that the run's lock is its own from now on.
func (w *Writer) Locked() { w.held.Store(true) }

// TrustedUntil is the time until which nobody takes the run for dead.
func (w *Writer) TrustedUntil() time.Time { return w.lastSign.Load().Add(w.beat.GiveUp) }

func (w *Writer) fail(err error) { w.once.Do(func() { w.failed(err) }) }

// keepBeating signs until ctx ends.
func (w *Writer) keepBeating(ctx context.Context) {
	ticks := time.NewTicker(w.beat.Every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if err := w.sign(ctx); err != nil {
			w.fail(err)
		}
	}
}

// sign leaves a sign of life, and looks whether the lock is still the run's. A store
// that is away for a moment is no error: the next sign may reach it.
func (w *Writer) sign(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, w.beat.Every)
	defer cancel()
	began := time.Now()
	err := w.store.Write(bounded, w.folder+alive, []byte("written again while the run is at work\n"))
	if err == nil {
		w.lastSign.Store(&began)
	}
	if time.Now().After(w.TrustedUntil()) {
		return errors.Join(ErrSilent, err)
	}
	lock, err := w.store.ReadLock(bounded, w.stateKey)
	switch {
	case err != nil || !w.held.Load():
		return nil
	case lock == nil:
		return ErrUnlocked
	case lock.ID != w.lockID:
		return fmt.Errorf("%w: %s of %s", ErrDeposed, lock.ID, lock.Who)
	}
	return nil
}

// Add records a fact. It does not wait for the store.
func (w *Writer) Add(e Entry) {
	w.lock.Lock()
	w.waiting = append(w.waiting, e)
	w.lock.Unlock()
	select {
	case w.wake <- struct{}{}:
	default: // the writer is awake, and takes this entry too
	}
}

// Abandon leaves the journal for recover, and says that the run is not at work any
// more. The run's lock stays, too.
func (w *Writer) Abandon(ctx context.Context) error {
	close(w.wake)
	w.writing.Wait()
	w.stop()
	w.beating.Wait()
	return errors.Join(w.flush(ctx), w.store.Write(ctx, w.folder+ended, []byte("left for recover\n")))
}

// Finish says that the run ended in order. The run still signs until Remove: it has to
// give its lock back.
func (w *Writer) Finish(ctx context.Context) error {
	close(w.wake)
	w.writing.Wait()
	w.held.Store(false)
	return w.store.Write(ctx, w.folder+finished, []byte("ended in order\n"))
}

// Remove takes the journal of a finished run away.
func (w *Writer) Remove(ctx context.Context) error {
	w.Stop()
	return removeAll(ctx, w.store, w.folder, append(slices.Clone(w.keys), w.folder+alive))
}

// Stop ends the signs of a finished run whose journal stays.
func (w *Writer) Stop() {
	w.stop()
	w.beating.Wait()
}

// flush writes the entries that wait, together in one object.
func (w *Writer) flush(ctx context.Context) error {
	w.lock.Lock()
	entries := w.waiting
	w.waiting = nil
	w.lock.Unlock()
	if len(entries) == 0 {
		return nil
	}
	var lines bytes.Buffer
	for _, e := range entries {
		// Ends each entry by a line break, and none holds one.
		if err := json.NewEncoder(&lines).Encode(e); err != nil {
			return err
		}
	}
	sealed, err := secrets.Envelope(lines.Bytes(), w.seal)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%s%05d.age", w.folder, len(w.keys))
	if err := w.put(ctx, key, sealed); err != nil {
		// The last attempt may still be made, by Abandon.
		w.lock.Lock()
		w.waiting = append(entries, w.waiting...)
		w.lock.Unlock()
		return fmt.Errorf("keep the journal: %w", err)
	}
	w.keys = append(w.keys, key)
	return nil
}

// put writes one of the numbered objects. The first one is claimed: a run that was called
// as an earlier one would write over its journal.
func (w *Writer) put(ctx context.Context, key string, sealed []byte) error {
	if len(w.keys) > 0 {
		return w.store.Write(ctx, key, sealed)
	}
	other, err := w.store.Claim(ctx, key, sealed)
	if other != nil {
		err = errors.New("there was a run of this name before: give this one another by --run-id")
	}
	return err
}
