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

// A Beat sets how a working run shows that it is alive.
type Beat struct {
	Every time.Duration // interval between signs of life, and the timeout of one
	// GiveUp is how long the run may go without a successful sign of life before it must stop,
	// because others will soon consider it dead.
	GiveUp time.Duration
}

// DefaultBeat gives a run at least 10 seconds to stop before DeadAfter.
var DefaultBeat = Beat{Every: 10 * time.Second, GiveUp: 40 * time.Second}

// The errors that a Writer passes to its failed callback, besides errors of the store.
var (
	// ErrSilent means that others will soon consider the run dead.
	ErrSilent = errors.New("no sign of life has reached the store for too long: others will soon consider this run dead")
	// ErrUnlocked means that somebody removed the run's lock. Nobody holds it now.
	ErrUnlocked = errors.New("this run's lock was removed")
	// ErrDeposed means that another run holds the lock now and may be changing the state.
	ErrDeposed = errors.New("another run has taken this run's lock")
)

// A Writer writes the journal of one run.
type Writer struct {
	store    *state.Store
	seal     []string // age recipients of the entries
	stateKey string
	folder   string
	lockID   string

	lock    sync.Mutex
	waiting []Entry
	keeping []chan struct{} // closed when the waiting entries are stored
	wake    chan struct{}
	keys    []string // objects written so far; used by one goroutine at a time

	beat     Beat
	lastSign atomic.Pointer[time.Time]
	held     atomic.Bool        // the lock is ours, so somebody else may remove it
	stop     context.CancelFunc // ends the heartbeat
	writing  sync.WaitGroup
	beating  sync.WaitGroup
	once     sync.Once
	failed   func(error)
}

// Open starts the journal of a run on a state. When it returns, others can see that the run is
// working and which lock it is about to take. If an entry cannot be stored later, or the run is
// considered dead or loses its lock, failed is called once. The run must then stop, because it
// could no longer be recovered.
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
	// When the caller cancels ctx to stop the run, the run still finishes its work, and the journal
	// continues until then.
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

// Locked records that the run now holds its lock.
func (w *Writer) Locked() { w.held.Store(true) }

// TrustedUntil returns the time until which nobody considers the run dead.
func (w *Writer) TrustedUntil() time.Time { return w.lastSign.Load().Add(w.beat.GiveUp) }

func (w *Writer) fail(err error) { w.once.Do(func() { w.failed(err) }) }

// keepBeating writes signs of life until ctx ends.
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

// sign writes a sign of life and checks that the lock still belongs to the run. A short outage of
// the store is not an error: the next sign may get through.
func (w *Writer) sign(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, w.beat.Every)
	defer cancel()
	began := time.Now()
	err := w.store.Write(bounded, w.folder+alive, []byte("rewritten while the run is working\n"))
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
		return fmt.Errorf("%w: %s, held by %s", ErrDeposed, lock.ID, lock.Who)
	}
	return nil
}

// Add records a fact. It does not wait for the store.
func (w *Writer) Add(e Entry) { w.add(e) }

// Keep records a fact, and returns when it is in the store: a step that must not be forgotten is taken after
// that. It fails when ctx ends, which failed sees to if the store does not take the fact.
func (w *Writer) Keep(ctx context.Context, e Entry) error {
	kept := make(chan struct{})
	w.add(e, kept)
	select {
	case <-kept:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *Writer) add(e Entry, kept ...chan struct{}) {
	w.lock.Lock()
	w.waiting = append(w.waiting, e)
	w.keeping = append(w.keeping, kept...)
	w.lock.Unlock()
	select {
	case w.wake <- struct{}{}:
	default: // the writer is awake and will include this entry
	}
}

// Abandon leaves the journal for recover and records that the run has stopped. The run's lock
// stays, too.
func (w *Writer) Abandon(ctx context.Context) error {
	close(w.wake)
	w.writing.Wait()
	w.stop()
	w.beating.Wait()
	return errors.Join(w.flush(ctx), w.store.Write(ctx, w.folder+ended, []byte("left for recover\n")))
}

// Finish records that the run ended cleanly. Signs of life continue until Remove, because the run
// still has to release its lock.
func (w *Writer) Finish(ctx context.Context) error {
	close(w.wake)
	w.writing.Wait()
	w.held.Store(false)
	return w.store.Write(ctx, w.folder+finished, []byte("ended cleanly\n"))
}

// Remove deletes the journal of a finished run.
func (w *Writer) Remove(ctx context.Context) error {
	w.Stop()
	return removeAll(ctx, w.store, w.folder, append(slices.Clone(w.keys), w.folder+alive))
}

// Stop ends the signs of life of a finished run whose journal stays.
func (w *Writer) Stop() {
	w.stop()
	w.beating.Wait()
}

// flush writes the pending entries together as one object.
func (w *Writer) flush(ctx context.Context) error {
	w.lock.Lock()
	entries, kept := w.waiting, w.keeping
	w.waiting, w.keeping = nil, nil
	w.lock.Unlock()
	if len(entries) == 0 {
		return nil
	}
	var lines bytes.Buffer
	for _, e := range entries {
		// Encode ends each entry with a line break, and an entry contains no other.
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
		// Abandon may still make a last attempt.
		w.lock.Lock()
		w.waiting, w.keeping = append(entries, w.waiting...), append(kept, w.keeping...)
		w.lock.Unlock()
		return fmt.Errorf("write the journal: %w", err)
	}
	w.keys = append(w.keys, key)
	for _, k := range kept {
		close(k)
	}
	return nil
}

// put writes one of the numbered objects. It claims the first one: a run that reuses the name of an
// earlier run would overwrite its journal.
func (w *Writer) put(ctx context.Context, key string, sealed []byte) error {
	if len(w.keys) > 0 {
		return w.store.Write(ctx, key, sealed)
	}
	other, err := w.store.Claim(ctx, key, sealed)
	if other != nil {
		err = errors.New("a run of this name already exists: choose another with --run-id")
	}
	return err
}
