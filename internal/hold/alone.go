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
	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/state"
)

// Alone opens the journal of a run that removes other runs' locks, and refuses while another run is
// active. It opens its journal before it checks: if two start at the same time, at least one sees
// the other.
func Alone(ctx context.Context, l *layer.Layer) (context.Context, *Hold, error) {
	o, err := RunsOn(ctx, l)
	if err == nil {
		err = refuseLive(l, o)
	}
	if err != nil {
		return nil, nil, err
	}
	working, h, err := Begin(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	if o, err = RunsOn(ctx, l); err == nil {
		err = refuseLive(l, o)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.End(ctx, true))
	}
	return working, h, nil
}

func refuseLive(l *layer.Layer, o Others) error {
	if len(o.Live) == 0 {
		return nil
	}
	run := o.Live[0]
	return fault.Refuse(later(l, run)+"   # if it was killed; otherwise wait until it ends",
		"%s%s is alive: its last heartbeat was %s ago", DescribeRun(run), Origin(run), run.Silent().Round(time.Second))
}

// later is the command that repeats this one when the run counts as dead. The store's clock tells whole
// seconds, so the run's silence may then be measured up to one second too short.
func later(l *layer.Layer, run journal.Run) string {
	return fmt.Sprintf("sleep %.0f && %s", math.Ceil((l.DeadAfter-run.Silent()).Seconds())+1, l.Call(l.Result.Stage))
}

// Release removes a lock whose holder is dead or whose ID is lockID. The caller is alone. There may
// be no lock.
func Release(ctx context.Context, l *layer.Layer, lockID string) error {
	o, err := RunsOn(ctx, l)
	if err != nil {
		return err
	}
	lock, err := l.Store.ReadLock(ctx, l.Key)
	if err != nil || lock == nil {
		return err
	}
	if err := mayRelease(l, o, *lock, lockID); err != nil {
		return err
	}
	return l.Store.Unlock(ctx, l.Key, lock.ID)
}

// mayRelease refuses to remove a lock that does not belong to a dead run, unless lockID names it.
func mayRelease(l *layer.Layer, o Others, lock state.Lock, lockID string) error {
	holds := func(run journal.Run) bool { return run.Holds(lock) }
	if slices.ContainsFunc(o.Dead, holds) || lockID == lock.ID {
		return nil
	}
	if i := slices.IndexFunc(o.Over, holds); i >= 0 {
		if o.Over[i].Silent() < l.DeadAfter {
			return fault.Refuse(later(l, o.Over[i]), "%s has just finished and is releasing the lock of %s", DescribeRun(o.Over[i]), l.Name)
		}
		return nil
	}
	if lockID != "" {
		return fault.Refuse(l.Call("unlock")+" --lock-id="+lock.ID, "--lock-id is %q, but the lock's ID is %s", lockID, lock.ID)
	}
	return fault.Refuse("make sure that it is dead, then: "+l.Call("unlock")+" --lock-id="+lock.ID, "the lock of %s is in no journal, so it is not known whether %s is dead", l.Name, printable.Terminal(lock.Who))
}
