package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"slipway/internal/secrets"
	"slipway/internal/state"
)

// A Writer writes the journal of one run.
type Writer struct {
	store  *state.Store
	seal   []string // age recipients
	folder string

	lock    sync.Mutex
	waiting []Entry
	wake    chan struct{}
	keys    []string // written so far; used by one goroutine at a time

	stop   context.CancelFunc // ends the heartbeat
	loops  sync.WaitGroup
	failed func(error)
}

// Open begins the journal of a run on a state: when it returns, others can see
// that the run is at work. Should an entry not be kept later on, failed is called
// once: the run must then stop, because it could no longer be recovered.
func Open(ctx context.Context, store *state.Store, recipients []string, stateKey string, run Header, failed func(error)) (*Writer, error) {
	run.Version = 1
	w := &Writer{
		store: store, seal: recipients, folder: folder(stateKey) + run.ID + "/",
		waiting: []Entry{{Kind: Begin, Time: run.Started, Run: &run}},
		wake:    make(chan struct{}, 1),
		failed:  failed,
	}
	if err := w.sign(ctx); err != nil {
		return nil, err
	}
	if err := w.flush(ctx); err != nil {
		return nil, errors.Join(err, w.store.Remove(context.WithoutCancel(ctx), w.folder+alive))
	}
	// The run goes on, and so does its journal, when its caller asks it to stop.
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	w.loops.Go(func() {
		for range w.wake {
			if err := w.flush(context.WithoutCancel(ctx)); err != nil {
				w.failed(err)
				return
			}
		}
	})
	w.loops.Go(func() {
		ticks := time.NewTicker(beat)
		defer ticks.Stop()
		for {
			select {
			case <-beating.Done():
				return
			case <-ticks.C:
				// A store that is away for a moment: the next beat may reach it.
				_ = w.sign(beating)
			}
		}
	})
	return w, nil
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

// Close ends the journal of a run that has stopped. Unless the journal is to be
// kept for recover, it is taken away.
func (w *Writer) Close(ctx context.Context, keep bool) error {
	close(w.wake)
	w.stop()
	w.loops.Wait()
	if keep {
		return errors.Join(w.flush(ctx), w.store.Remove(ctx, w.folder+alive))
	}
	for _, key := range slices.Backward(w.keys) {
		if err := w.store.Remove(ctx, key); err != nil {
			return err
		}
	}
	return w.store.Remove(ctx, w.folder+alive)
}

// sign leaves a sign of life.
func (w *Writer) sign(ctx context.Context) error {
	return w.store.Write(ctx, w.folder+alive, []byte("written again while the run is at work\n"))
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
	if err := w.store.Write(ctx, key, sealed); err != nil {
		return fmt.Errorf("keep the journal: %w", err)
	}
	w.keys = append(w.keys, key)
	return nil
}
