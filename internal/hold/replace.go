package hold

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"slipway/internal/fault"
	"slipway/internal/journal"
	"slipway/internal/printable"
	"slipway/internal/state"
)

// Replace takes the lock from a run that is dead, or from nobody, and refuses while another run is
// active. lockID names a lock to take whose holder is not known to be dead. work gets the other
// runs; it reports whether nothing is left to recover.
func Replace(ctx context.Context, s Subject, lockID string, work func(working context.Context, h *Hold, o Others) (clean bool, err error)) error {
	working, h, err := alone(ctx, s)
	if err != nil {
		return err
	}
	if err = release(ctx, s, lockID); err == nil {
		err = h.acquire(ctx)
	}
	var o Others
	if err == nil {
		// Read again: now that we hold the lock, nobody else removes a journal.
		o, err = RunsOn(ctx, s)
	}
	clean := true
	if err == nil {
		clean, err = work(working, h, o)
	}
	if lost := Stopped(working); lost != nil && !errors.Is(err, lost) {
		err = errors.Join(err, lost)
	}
	return errors.Join(err, h.End(ctx, clean))
}

// Resume is Replace for work that goes on from an interrupted run by itself. It refuses what RefuseBeside refuses.
func Resume(ctx context.Context, s Subject, work func(working context.Context, h *Hold, o Others) (clean bool, err error)) error {
	return Replace(ctx, s, "", func(working context.Context, h *Hold, o Others) (clean bool, err error) {
		// Checked under the lock: those others look for our journal once they have theirs.
		if err := RefuseBeside(ctx, s); err != nil {
			return true, err
		}
		return work(working, h, o)
	})
}

// alone opens the journal of a run that removes other runs' locks, and refuses while another run is
// active. It opens its journal before it checks: if two start at the same time, at least one sees
// the other.
func alone(ctx context.Context, s Subject) (context.Context, *Hold, error) {
	o, err := RunsOn(ctx, s)
	if err == nil {
		err = refuseLive(s, o)
	}
	if err != nil {
		return nil, nil, err
	}
	working, h, err := begin(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if o, err = RunsOn(ctx, s); err == nil {
		err = refuseLive(s, o)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.End(ctx, true))
	}
	return working, h, nil
}

func refuseLive(s Subject, o Others) error {
	if len(o.Live) == 0 {
		return nil
	}
	run := o.Live[0]
	return fault.Refuse(later(s, run)+"   # if it was killed; otherwise wait until it ends",
		"%s%s is alive: its last heartbeat was %s ago", DescribeRun(run), Origin(run), run.Silent().Round(time.Second))
}

// later is the command that repeats this one when the run counts as dead. The store's clock tells whole
// seconds, so the run's silence may then be measured up to one second too short.
func later(s Subject, run journal.Run) string {
	return fmt.Sprintf("sleep %.0f && %s", math.Ceil((s.Run.DeadAfter-run.Silent()).Seconds())+1, s.Call(s.Run.Result.Stage))
}

// release removes a lock whose holder is dead or whose ID is lockID. The caller is alone. There may
// be no lock.
func release(ctx context.Context, s Subject, lockID string) error {
	o, err := RunsOn(ctx, s)
	if err != nil {
		return err
	}
	lock, err := s.Run.Store.ReadLock(ctx, s.Key)
	if err != nil || lock == nil {
		return err
	}
	if err := mayRelease(s, o, *lock, lockID); err != nil {
		return err
	}
	return s.Run.Store.Unlock(ctx, s.Key, lock.ID)
}

// mayRelease refuses to remove a lock that does not belong to a dead run, unless lockID names it.
func mayRelease(s Subject, o Others, lock state.Lock, lockID string) error {
	holds := func(run journal.Run) bool { return run.Holds(lock) }
	if slices.ContainsFunc(o.Dead, holds) || lockID == lock.ID {
		return nil
	}
	if i := slices.IndexFunc(o.Over, holds); i >= 0 {
		if o.Over[i].Silent() < s.Run.DeadAfter {
			return fault.Refuse(later(s, o.Over[i]), "%s has just finished and is releasing the lock of %s", DescribeRun(o.Over[i]), s.Name)
		}
		return nil
	}
	if lockID != "" {
		return fault.Refuse(s.Call("unlock")+" --lock-id="+lock.ID, "--lock-id is %q, but the lock's ID is %s", lockID, lock.ID)
	}
	return fault.Refuse("make sure that it is dead, then: "+s.Call("unlock")+" --lock-id="+lock.ID, "the lock of %s is in no journal, so it is not known whether %s is dead", s.Name, printable.Terminal(lock.Who))
}
