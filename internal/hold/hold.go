// Package hold gives one run at a time the right to change a subject, using its lock and a journal
// that shows that the run is alive and what it does. A run takes a lock that is free, by Take, or
// replaces a run that is dead, by Replace.
package hold

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway/internal/confine"
	"slipway/internal/fault"
	"slipway/internal/journal"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/state"
)

// A Hold is this run's right to change one subject. It consists of the journal, which shows that the
// run is active, and the lock, which is recorded in the journal before it is taken. It is nil for a
// state over HTTP, which has no journal and which tofu itself locks.
type Hold struct {
	Journal *journal.Writer
	Lock    state.Lock

	subject Subject
}

// begin opens this run's journal. The returned context ends when the run has to stop because it
// could no longer be recovered.
func begin(ctx context.Context, s Subject) (context.Context, *Hold, error) {
	now, r := time.Now().UTC(), s.Run
	h := &Hold{subject: s, Lock: r.Store.NewLock(s.Key, rand.Text(), r.Result.Stage, r.ID, now)}
	header := journal.Header{
		ID: r.ID, Stage: r.Result.Stage, Environment: r.Env, Layer: s.Name,
		Started: now, Lock: h.Lock.ID, Creates: s.Creates, Replaces: s.Replaces,
		Who: strings.Join(r.Identity.Recipients(), " "), Commit: s.Commit, Inputs: s.Inputs,
	}
	working, stop := context.WithCancelCause(ctx)
	failed := func(err error) {
		if errors.Is(err, journal.ErrDeposed) {
			// Anything that the tool wrote now would overwrite another run's work.
			err = errors.Join(confine.ErrKill, err)
		}
		stop(lossError{err})
	}
	var err error
	if h.Journal, err = journal.Open(ctx, r.Store, r.Recipients, s.Key, header, r.Beat, failed); err != nil {
		stop(nil)
		return nil, nil, err
	}
	return working, h, nil
}

// Take takes a lock that is free.
func Take(ctx context.Context, s Subject) (context.Context, *Hold, error) {
	if s.Run.Store == nil {
		return ctx, nil, nil
	}
	working, h, err := begin(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if err = h.acquire(ctx); err == nil {
		// What was checked before we had the lock may have changed.
		err = refuseOthers(ctx, s)
	}
	if err == nil {
		err = RefuseBeside(ctx, s)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.End(ctx, true))
	}
	return working, h, nil
}

// refuseOthers refuses to continue, although we hold the lock, beside a run that removes locks or
// after a run that was interrupted.
func refuseOthers(ctx context.Context, s Subject) error {
	o, err := RunsOn(ctx, s)
	if err != nil {
		return err
	}
	for _, run := range o.Live {
		if run.Stage == "recover" || run.Stage == "unlock" {
			return inUse(s, run)
		}
	}
	return refuseDead(s, o)
}

// acquire takes the lock. If another run has it, the refusal names that run.
func (h *Hold) acquire(ctx context.Context) error {
	s := h.subject
	other, err := s.Run.Store.Lock(ctx, s.Key, h.Lock)
	if err != nil {
		return err
	}
	if other != nil {
		return refuseLocked(s, "%s locked by %s", s.Is, DescribeLock(other))
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
	s := h.subject
	var changed *state.LockChangedError
	for end := time.Now().Add(giveBackFor); ; time.Sleep(time.Second) {
		// Nobody else may be about to take the lock: see state.Unlock.
		trusted, cancel := context.WithDeadline(ctx, h.Journal.TrustedUntil())
		err := s.Run.Store.Unlock(trusted, s.Key, h.Lock.ID)
		cancel()
		if err == nil || errors.As(err, &changed) {
			return nil // the run was refused: the lock belongs to somebody else
		}
		if time.Now().After(end) {
			return fault.Fail(s.Call("unlock"), "the work on %s is done, but its lock could not be released: %w", s.Name, err)
		}
	}
}

// Others are the other runs on a state.
type Others struct {
	Live []journal.Run // active
	Dead []journal.Run // interrupted, ordered by start
	Over []journal.Run // finished, with a journal left over
}

// RunsOn returns the other runs on a subject.
func RunsOn(ctx context.Context, s Subject) (Others, error) {
	runs, err := journal.Runs(ctx, s.Run.Store, s.Run.Identity, s.Key)
	return sorted(s.Run, runs), err
}

func sorted(r *run.Run, runs []journal.Run) (o Others) {
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
	return o
}

// RefuseRuns refuses to start a change beside an active run or after an interrupted one.
func RefuseRuns(ctx context.Context, s Subject) error {
	if s.Run.Store == nil {
		return nil
	}
	o, err := RunsOn(ctx, s)
	if err != nil {
		return err
	}
	if len(o.Live) > 0 {
		return inUse(s, o.Live[0])
	}
	if err := refuseDead(s, o); err != nil {
		return err
	}
	lock, err := s.Run.Store.ReadLock(ctx, s.Key)
	if err == nil && lock != nil {
		err = refuseLocked(s, "%s locked by %s", s.Is, DescribeLock(lock))
	}
	if err != nil {
		return err
	}
	return RefuseBeside(ctx, s)
}

// NoteRuns tells the reader of a plan what else is happening to the state.
func NoteRuns(ctx context.Context, s Subject) error {
	r := s.Run
	if r.Store == nil {
		return nil
	}
	runs, err := journal.Seen(ctx, r.Store, r.Identity, s.Key)
	o := sorted(r, runs)
	for _, run := range o.Live {
		r.Say("note: %s is changing %s right now: the plan may already be out of date", DescribeRun(run), s.Name)
	}
	for _, run := range o.Dead {
		switch {
		case OfTool(run):
			r.Say("note: %s was interrupted, and may have done a part of its work", DescribeRun(run))
		case s.Repair == "":
			r.Say("note: %s was interrupted: the next apply goes on from there", DescribeRun(run))
		default:
			r.Say("note: %s was interrupted: before the next apply, run %s", DescribeRun(run), s.Call(s.Repair))
		}
	}
	return err
}

// toolStages run a tool of somebody's choice on a cluster, or are repeated as a whole: see Once.
var toolStages = []string{"cluster-kubectl", "cluster-talosctl", "cluster-helm", "flux-install", "flux-reconcile", "flux-suspend", "flux-resume"}

// OfTool reports whether a run was of such a stage. If it was interrupted, nothing goes on from there.
func OfTool(run journal.Run) bool { return slices.Contains(toolStages, run.Stage) }

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
func refuseLocked(s Subject, format string, args ...any) error {
	return fault.Refuse("dagger call unlock --env="+s.Run.Env+"   # names the holder; or wait for it", format, args...)
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
