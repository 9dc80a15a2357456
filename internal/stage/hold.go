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

// A hold is the right of this run to change one state: the journal that says that it is
// at work, and the state's lock, which the journal named before it was taken. Nil is that
// of a state over HTTP, which has no journal, and whose lock tofu itself takes.
type hold struct {
	root *root
	book *journal.Writer
	lock state.Lock
}

// begin opens the journal of this run on the root's state. The context that it returns
// ends when the run has to stop because it could no longer be recovered.
func (r *root) begin(ctx context.Context) (context.Context, *hold, error) {
	now := time.Now().UTC()
	h := &hold{root: r, lock: r.store.NewLock(r.key, rand.Text(), r.result.Stage, r.RunID, now)}
	header := journal.Header{
		ID: r.RunID, Stage: r.result.Stage, Environment: r.Environment, Layer: r.name,
		Started: now, Lock: h.lock.ID, Creates: r.creates, Replaces: r.replaces,
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
	if h.book, err = journal.Open(ctx, r.store, r.recipients, r.key, header, r.Beat, failed); err != nil {
		stop(nil)
		return nil, nil, err
	}
	return working, h, nil
}

// take is begin, and then the lock.
func (r *root) take(ctx context.Context) (context.Context, *hold, error) {
	if r.store == nil {
		return ctx, nil, nil
	}
	working, h, err := r.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err = h.acquire(ctx); err == nil {
		// What was looked at before the lock was ours may have changed.
		err = r.refuseBeside(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.end(ctx, true))
	}
	return working, h, nil
}

// refuseBeside refuses to go on, under the lock, beside a run that takes locks away, or
// on top of one that was interrupted.
func (r *root) refuseBeside(ctx context.Context) error {
	o, err := r.others(ctx)
	if err != nil {
		return err
	}
	for _, run := range o.live {
		if run.Stage == "recover" || run.Stage == "unlock" {
			return r.inUse(run)
		}
	}
	return r.refuseDead(o)
}

// acquire takes the lock, or names its holder.
func (h *hold) acquire(ctx context.Context) error {
	r := h.root
	other, err := r.store.Lock(ctx, r.key, h.lock)
	if err != nil {
		return err
	}
	if other != nil {
		return r.locked("the state of %s is locked by %s", r.name, describeLock(other))
	}
	h.book.Locked()
	return nil
}

// giveBackFor is how long a run tries to give its lock back.
const giveBackFor = 20 * time.Second

// end gives the lock back and takes the journal away, after a run of which nothing is to
// be recovered. After another, both stay for recover.
func (h *hold) end(ctx context.Context, ordered bool) error {
	if h == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // also when we were asked to stop
	if !ordered {
		return h.book.Abandon(ctx)
	}
	defer h.book.Stop()
	if err := h.book.Finish(ctx); err != nil {
		return err
	}
	if err := h.giveBack(ctx); err != nil {
		return err
	}
	return h.book.Remove(ctx)
}

func (h *hold) giveBack(ctx context.Context) error {
	r := h.root
	var changed *state.LockChangedError
	for end := time.Now().Add(giveBackFor); ; time.Sleep(time.Second) {
		// Nobody else may be about to take it: see state.Unlock.
		trusted, cancel := context.WithDeadline(ctx, h.book.TrustedUntil())
		err := r.store.Unlock(trusted, r.key, h.lock.ID)
		cancel()
		if err == nil || errors.As(err, &changed) {
			return nil // of a run that was refused, the lock is another's
		}
		if time.Now().After(end) {
			return fmt.Errorf("what was to be done on %s is done, and its lock could not be given back (then: %s): %w", r.name, r.command("unlock"), err)
		}
	}
}

// others are the other runs on the state.
type others struct {
	live []journal.Run // at work
	dead []journal.Run // interrupted, in the order of their start
	over []journal.Run // ended in order, and left litter
}

func (r *root) others(ctx context.Context) (o others, err error) {
	runs, err := journal.Runs(ctx, r.store, r.identity, r.key)
	for _, run := range runs {
		switch {
		case run.ID == r.RunID:
		case run.Over():
			o.over = append(o.over, run)
		case run.Live(r.DeadAfter):
			o.live = append(o.live, run)
		default:
			o.dead = append(o.dead, run)
		}
	}
	return o, err
}

// refuseRuns refuses to begin a change beside another, or on top of one that was
// interrupted.
func (r *root) refuseRuns(ctx context.Context) error {
	if r.store == nil {
		return nil
	}
	o, err := r.others(ctx)
	if err != nil {
		return err
	}
	if len(o.live) > 0 {
		return r.inUse(o.live[0])
	}
	if err := r.refuseDead(o); err != nil {
		return err
	}
	lock, err := r.store.ReadLock(ctx, r.key)
	if err == nil && lock != nil {
		err = r.locked("the state of %s is locked by %s", r.name, describeLock(lock))
	}
	return err
}

func (r *root) inUse(run journal.Run) error {
	return r.locked("the state of %s is in use by %s", r.name, describe(run))
}

func (r *root) refuseDead(o others) error {
	if len(o.dead) == 0 {
		return nil
	}
	return refusal.New(r.command("recover"), "%s was interrupted, and what it made may not be in the state of %s", describe(o.dead[0]), r.name)
}

// noteRuns tells a reader of a plan what else happens to the state.
func (r *root) noteRuns(ctx context.Context) error {
	if r.store == nil {
		return nil
	}
	o, err := r.others(ctx)
	for _, run := range o.live {
		r.say("note: %s is changing %s at this moment: the plan may be out of date at once", describe(run), r.name)
	}
	for _, run := range o.dead {
		r.say("note: %s was interrupted: before the next apply, run %s", describe(run), r.command("recover"))
	}
	return err
}
