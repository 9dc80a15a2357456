package stage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"slipway/internal/journal"
	"slipway/internal/refusal"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// A Hold is the right of this run to change one state: the journal that says that it is
// at work, and the state's lock, which the journal named before it was taken. Nil is that
// of a state over HTTP, which has no journal, and whose lock tofu itself takes.
type Hold struct {
	Layer   *Layer
	Journal *journal.Writer
	Lock    state.Lock
}

// Begin opens the journal of this run on the root's state. The context that it returns
// ends when the run has to stop because it could no longer be recovered.
func (r *Layer) Begin(ctx context.Context) (context.Context, *Hold, error) {
	now := time.Now().UTC()
	h := &Hold{Layer: r, Lock: r.Store.NewLock(r.Key, rand.Text(), r.Result.Stage, r.ID, now)}
	header := journal.Header{
		ID: r.ID, Stage: r.Result.Stage, Environment: r.Env, Layer: r.Name,
		Started: now, Lock: h.Lock.ID, Creates: r.Creates, Replaces: r.Replaces,
	}
	working, stop := context.WithCancelCause(ctx)
	failed := func(err error) {
		if errors.Is(err, journal.ErrDeposed) {
			// What tofu would write now, it would write over the work of another.
			err = errors.Join(tofu.ErrKill, err)
		}
		stop(err)
	}
	var err error
	if h.Journal, err = journal.Open(ctx, r.Store, r.Recipients, r.Key, header, r.Beat, failed); err != nil {
		stop(nil)
		return nil, nil, err
	}
	return working, h, nil
}

// Take is begin, and then the lock.
func (r *Layer) Take(ctx context.Context) (context.Context, *Hold, error) {
	if r.Store == nil {
		return ctx, nil, nil
	}
	working, h, err := r.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err = h.Acquire(ctx); err == nil {
		// What was looked at before the lock was ours may have changed.
		err = r.RefuseBeside(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.End(ctx, true))
	}
	return working, h, nil
}

// RefuseBeside refuses to go on, under the lock, beside a run that takes locks away, or
// on top of one that was interrupted.
func (r *Layer) RefuseBeside(ctx context.Context) error {
	o, err := r.Look(ctx)
	if err != nil {
		return err
	}
	for _, run := range o.Live {
		if run.Stage == "recover" || run.Stage == "unlock" {
			return r.inUse(run)
		}
	}
	return r.refuseDead(o)
}

// Acquire takes the lock, or names its holder.
func (h *Hold) Acquire(ctx context.Context) error {
	r := h.Layer
	other, err := r.Store.Lock(ctx, r.Key, h.Lock)
	if err != nil {
		return err
	}
	if other != nil {
		return r.RefuseLocked("the state of %s is locked by %s", r.Name, DescribeLock(other))
	}
	h.Journal.Locked()
	return nil
}

// giveBackFor is how long a run tries to give its lock back.
const giveBackFor = 20 * time.Second

// End gives the lock back and takes the journal away, after a run of which nothing is to
// be recovered. After another, both stay for recover.
func (h *Hold) End(ctx context.Context, ordered bool) error {
	if h == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // also when we were asked to stop
	if !ordered {
		return h.Journal.Abandon(ctx)
	}
	defer h.Journal.Stop()
	if err := h.Journal.Finish(ctx); err != nil {
		return err
	}
	if err := h.giveBack(ctx); err != nil {
		return err
	}
	return h.Journal.Remove(ctx)
}

func (h *Hold) giveBack(ctx context.Context) error {
	r := h.Layer
	var changed *state.LockChangedError
	for end := time.Now().Add(giveBackFor); ; time.Sleep(time.Second) {
		// Nobody else may be about to take it: see state.Unlock.
		trusted, cancel := context.WithDeadline(ctx, h.Journal.TrustedUntil())
		err := r.Store.Unlock(trusted, r.Key, h.Lock.ID)
		cancel()
		if err == nil || errors.As(err, &changed) {
			return nil // of a run that was refused, the lock is another's
		}
		if time.Now().After(end) {
			return fmt.Errorf("what was to be done on %s is done, and its lock could not be given back (then: %s): %w", r.Name, r.Call("unlock"), err)
		}
	}
}

// Others are the other runs on the state.
type Others struct {
	Live []journal.Run // at work
	Dead []journal.Run // interrupted, in the order of their start
	Over []journal.Run // ended in order, and left litter
}

func (r *Layer) Look(ctx context.Context) (o Others, err error) {
	runs, err := journal.Runs(ctx, r.Store, r.Identity, r.Key)
	for _, run := range runs {
		switch {
		case run.ID == r.ID:
		case run.Over():
			o.Over = append(o.Over, run)
		case run.Live(r.DeadAfter):
			o.Live = append(o.Live, run)
		default:
			o.Dead = append(o.Dead, run)
		}
	}
	return o, err
}

// RefuseRuns refuses to begin a change beside another, or on top of one that was
// interrupted.
func (r *Layer) RefuseRuns(ctx context.Context) error {
	if r.Store == nil {
		return nil
	}
	o, err := r.Look(ctx)
	if err != nil {
		return err
	}
	if len(o.Live) > 0 {
		return r.inUse(o.Live[0])
	}
	if err := r.refuseDead(o); err != nil {
		return err
	}
	lock, err := r.Store.ReadLock(ctx, r.Key)
	if err == nil && lock != nil {
		err = r.RefuseLocked("the state of %s is locked by %s", r.Name, DescribeLock(lock))
	}
	return err
}

func (r *Layer) inUse(run journal.Run) error {
	return r.RefuseLocked("the state of %s is in use by %s", r.Name, Describe(run))
}

func (r *Layer) refuseDead(o Others) error {
	if len(o.Dead) == 0 {
		return nil
	}
	return refusal.New(r.Call("recover"), "%s was interrupted, and what it made may not be in the state of %s", Describe(o.Dead[0]), r.Name)
}

// NoteRuns tells a reader of a plan what else happens to the state.
func (r *Layer) NoteRuns(ctx context.Context) error {
	if r.Store == nil {
		return nil
	}
	o, err := r.Look(ctx)
	for _, run := range o.Live {
		r.Say("note: %s is changing %s at this moment: the plan may be out of date at once", Describe(run), r.Name)
	}
	for _, run := range o.Dead {
		r.Say("note: %s was interrupted: before the next apply, run %s", Describe(run), r.Call("recover"))
	}
	return err
}
