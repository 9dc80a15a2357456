// Package hold gives one run at a time the right to change a state: by the state's lock, and by a
// journal that says that the run is alive and what it does.
package hold

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/refusal"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// A Hold is the right of this run to change one state: the journal that says that it is
// at work, and the state's lock, which the journal named before it was taken. Nil is that
// of a state over HTTP, which has no journal, and whose lock tofu itself takes.
type Hold struct {
	Layer   *layer.Layer
	Journal *journal.Writer
	Lock    state.Lock
}

// Begin opens the journal of this run on a layer's state. The context that it returns ends when
// the run has to stop because it could no longer be recovered.
func Begin(ctx context.Context, l *layer.Layer) (context.Context, *Hold, error) {
	now := time.Now().UTC()
	h := &Hold{Layer: l, Lock: l.Store.NewLock(l.Key, rand.Text(), l.Result.Stage, l.ID, now)}
	header := journal.Header{
		ID: l.ID, Stage: l.Result.Stage, Environment: l.Env, Layer: l.Name,
		Started: now, Lock: h.Lock.ID, Creates: l.Creates, Replaces: l.Replaces,
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
	if h.Journal, err = journal.Open(ctx, l.Store, l.Recipients, l.Key, header, l.Beat, failed); err != nil {
		stop(nil)
		return nil, nil, err
	}
	return working, h, nil
}

// Take begins, and takes the lock.
func Take(ctx context.Context, l *layer.Layer) (context.Context, *Hold, error) {
	if l.Store == nil {
		return ctx, nil, nil
	}
	working, h, err := Begin(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	if err = h.Acquire(ctx); err == nil {
		// What was checked before we had the lock may have changed.
		err = refuseBeside(ctx, l)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.End(ctx, true))
	}
	return working, h, nil
}

// refuseBeside refuses to go on, under the lock, beside a run that takes locks away, or on top of
// one that was interrupted.
func refuseBeside(ctx context.Context, l *layer.Layer) error {
	o, err := RunsOn(ctx, l)
	if err != nil {
		return err
	}
	for _, run := range o.Live {
		if run.Stage == "recover" || run.Stage == "unlock" {
			return inUse(l, run)
		}
	}
	return refuseDead(l, o)
}

// Acquire takes the lock. It is a refusal that names the holder if another run has it.
func (h *Hold) Acquire(ctx context.Context) error {
	l := h.Layer
	other, err := l.Store.Lock(ctx, l.Key, h.Lock)
	if err != nil {
		return err
	}
	if other != nil {
		return refuseLocked(l, "the state of %s is locked by %s", l.Name, DescribeLock(other))
	}
	h.Journal.Locked()
	return nil
}

// giveBackFor is how long a run tries to give its lock back.
const giveBackFor = 20 * time.Second

// End gives the lock back and removes the journal, if there is nothing to recover. Otherwise both
// stay for recover.
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
	l := h.Layer
	var changed *state.LockChangedError
	for end := time.Now().Add(giveBackFor); ; time.Sleep(time.Second) {
		// Nobody else may be about to take it: see state.Unlock.
		trusted, cancel := context.WithDeadline(ctx, h.Journal.TrustedUntil())
		err := l.Store.Unlock(trusted, l.Key, h.Lock.ID)
		cancel()
		if err == nil || errors.As(err, &changed) {
			return nil // the run was refused: the lock is another's
		}
		if time.Now().After(end) {
			return fmt.Errorf("the work on %s is done, but its lock could not be given back (next: %s): %w", l.Name, l.Call("unlock"), err)
		}
	}
}

// Others are the other runs on a state.
type Others struct {
	Live []journal.Run // at work
	Dead []journal.Run // interrupted, in the order of their start
	Over []journal.Run // finished, with a journal left over
}

// RunsOn are the other runs on a layer's state.
func RunsOn(ctx context.Context, l *layer.Layer) (o Others, err error) {
	runs, err := journal.Runs(ctx, l.Store, l.Identity, l.Key)
	for _, run := range runs {
		switch {
		case run.ID == l.ID:
		case run.Over():
			o.Over = append(o.Over, run)
		case run.Live(l.DeadAfter):
			o.Live = append(o.Live, run)
		default:
			o.Dead = append(o.Dead, run)
		}
	}
	return o, err
}

// RefuseRuns refuses to begin a change beside another run, or on top of one that was interrupted.
func RefuseRuns(ctx context.Context, l *layer.Layer) error {
	if l.Store == nil {
		return nil
	}
	o, err := RunsOn(ctx, l)
	if err != nil {
		return err
	}
	if len(o.Live) > 0 {
		return inUse(l, o.Live[0])
	}
	if err := refuseDead(l, o); err != nil {
		return err
	}
	lock, err := l.Store.ReadLock(ctx, l.Key)
	if err == nil && lock != nil {
		err = refuseLocked(l, "the state of %s is locked by %s", l.Name, DescribeLock(lock))
	}
	return err
}

func inUse(l *layer.Layer, run journal.Run) error {
	return refuseLocked(l, "the state of %s is in use by %s", l.Name, DescribeRun(run))
}

func refuseDead(l *layer.Layer, o Others) error {
	if len(o.Dead) == 0 {
		return nil
	}
	return refusal.New(l.Call("recover"), "%s was interrupted, and what it made may not be in the state of %s", DescribeRun(o.Dead[0]), l.Name)
}

// NoteRuns tells whoever reads a plan what else is happening to the state.
func NoteRuns(ctx context.Context, l *layer.Layer) error {
	if l.Store == nil {
		return nil
	}
	o, err := RunsOn(ctx, l)
	for _, run := range o.Live {
		l.Say("note: %s is changing %s right now: the plan may be out of date at once", DescribeRun(run), l.Name)
	}
	for _, run := range o.Dead {
		l.Say("note: %s was interrupted: before the next apply, run %s", DescribeRun(run), l.Call("recover"))
	}
	return err
}

// DescribeRun names a run in a sentence.
func DescribeRun(run journal.Run) string {
	if run.Started.IsZero() {
		return "run " + run.ID
	}
	return fmt.Sprintf("run %s (%s, begun %s)", run.ID, run.Stage, run.Started.Format(time.DateTime+" MST"))
}

// DescribeLock names the holder of a lock in a sentence.
func DescribeLock(lock *state.Lock) string {
	return fmt.Sprintf("%s since %s (%s, lock %s)", printable.Terminal(lock.Who), lock.Created.UTC().Format(time.DateTime+" MST"), printable.Terminal(strings.TrimPrefix(lock.Operation, "OperationType")), printable.Terminal(lock.ID))
}

// refuseLocked refuses because of a run that holds the lock.
func refuseLocked(l *layer.Layer, format string, args ...any) error {
	return refusal.New("dagger call unlock --env="+l.Env+"   # names the holder; or wait for it", format, args...)
}

// Stopped is the reason for which this program itself ended ctx; nil if it did not.
func Stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}
