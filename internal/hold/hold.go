// Package hold gives one run at a time the right to change a state, using the state's lock and a
// journal that shows that the run is alive and what it does.
package hold

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"slipway/internal/fault"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// A Hold is this run's right to change one state. It consists of the journal, which shows that the
// run is active, and the state's lock, which is recorded in the journal before it is taken. It is
// nil for a state over HTTP, which has no journal and which tofu itself locks.
type Hold struct {
	Layer   *layer.Layer
	Journal *journal.Writer
	Lock    state.Lock
}

// Begin opens this run's journal on a layer's state. The returned context ends when the run has to
// stop because it could no longer be recovered.
func Begin(ctx context.Context, l *layer.Layer) (context.Context, *Hold, error) {
	now := time.Now().UTC()
	h := &Hold{Layer: l, Lock: l.Store.NewLock(l.Key, rand.Text(), l.Result.Stage, l.ID, now)}
	header := journal.Header{
		ID: l.ID, Stage: l.Result.Stage, Environment: l.Env, Layer: l.Name,
		Started: now, Lock: h.Lock.ID, Creates: l.Creates, Replaces: l.Replaces,
		Who: strings.Join(l.Identity.Recipients(), " "), Commit: l.Commit, Inputs: l.Inputs,
	}
	working, stop := context.WithCancelCause(ctx)
	failed := func(err error) {
		if errors.Is(err, journal.ErrDeposed) {
			// Anything that tofu wrote now would overwrite another run's work.
			err = errors.Join(tofu.ErrKill, err)
		}
		stop(lossError{err})
	}
	var err error
	if h.Journal, err = journal.Open(ctx, l.Store, l.Recipients, l.Key, header, l.Beat, failed); err != nil {
		stop(nil)
		return nil, nil, err
	}
	return working, h, nil
}

// Take calls Begin and takes the lock.
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

// refuseBeside refuses to continue, although we hold the lock, beside a run that removes locks or
// after a run that was interrupted.
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

// Acquire takes the lock. If another run has it, the refusal names that run.
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

// giveBackFor is how long a run tries to release its lock.
const giveBackFor = 20 * time.Second

// End releases the lock and deletes the journal if there is nothing to recover. Otherwise both stay
// for recover.
func (h *Hold) End(ctx context.Context, ordered bool) error {
	if h == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // even if we were asked to stop
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
		// Nobody else may be about to take the lock: see state.Unlock.
		trusted, cancel := context.WithDeadline(ctx, h.Journal.TrustedUntil())
		err := l.Store.Unlock(trusted, l.Key, h.Lock.ID)
		cancel()
		if err == nil || errors.As(err, &changed) {
			return nil // the run was refused: the lock belongs to somebody else
		}
		if time.Now().After(end) {
			return fault.Fail(l.Call("unlock"), "the work on %s is done, but its lock could not be released: %w", l.Name, err)
		}
	}
}

// Others are the other runs on a state.
type Others struct {
	Live []journal.Run // active
	Dead []journal.Run // interrupted, ordered by start
	Over []journal.Run // finished, with a journal left over
}

// RunsOn returns the other runs on a layer's state.
func RunsOn(ctx context.Context, l *layer.Layer) (Others, error) {
	runs, err := journal.Runs(ctx, l.Store, l.Identity, l.Key)
	return sorted(l, runs), err
}

func sorted(l *layer.Layer, runs []journal.Run) (o Others) {
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
	return o
}

// RefuseRuns refuses to start a change beside an active run or after an interrupted one.
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
	return fault.Refuse(l.Call("recover"), "%s was interrupted, and what it created may not be in the state of %s", DescribeRun(o.Dead[0]), l.Name)
}

// NoteRuns tells the reader of a plan what else is happening to the state.
func NoteRuns(ctx context.Context, l *layer.Layer) error {
	if l.Store == nil {
		return nil
	}
	runs, err := journal.Seen(ctx, l.Store, l.Identity, l.Key)
	o := sorted(l, runs)
	for _, run := range o.Live {
		l.Say("note: %s is changing %s right now: the plan may already be out of date", DescribeRun(run), l.Name)
	}
	for _, run := range o.Dead {
		l.Say("note: %s was interrupted: before the next apply, run %s", DescribeRun(run), l.Call("recover"))
	}
	return err
}

// DescribeRun describes a run for use in a sentence.
func DescribeRun(run journal.Run) string {
	if run.Started.IsZero() {
		return "run " + run.ID
	}
	return fmt.Sprintf("run %s (%s, started %s)", run.ID, run.Stage, run.Started.Format(time.DateTime+" MST"))
}

// Origin says of which files a run is and whose identity it uses, as far as it is known, to follow
// the run's description.
func Origin(run journal.Run) (text string) {
	if run.Commit != "" {
		text += " of commit " + printable.Terminal(run.Commit)
	}
	if run.Who != "" {
		text += " by " + printable.Terminal(run.Who)
	}
	return text
}

// DescribeLock describes the holder of a lock for use in a sentence.
func DescribeLock(lock *state.Lock) string {
	return fmt.Sprintf("%s since %s (%s, lock %s)", printable.Terminal(lock.Who), lock.Created.UTC().Format(time.DateTime+" MST"), printable.Terminal(strings.TrimPrefix(lock.Operation, "OperationType")), printable.Terminal(lock.ID))
}

// refuseLocked refuses because another run holds the lock.
func refuseLocked(l *layer.Layer, format string, args ...any) error {
	return fault.Refuse("dagger call unlock --env="+l.Env+"   # names the holder; or wait for it", format, args...)
}

// A lossError says why a run can no longer hold its state. Its cause may be a request that timed out,
// so the run's own deadline cannot be told from it by the error alone.
type lossError struct{ cause error }

func (e lossError) Error() string { return e.cause.Error() }
func (e lossError) Unwrap() error { return e.cause }

// Stopped returns the reason for which Slipway itself ended ctx, or nil if it did not.
func Stopped(ctx context.Context) error {
	if loss, ok := errors.AsType[lossError](context.Cause(ctx)); ok {
		return loss.cause
	}
	return nil
}
