package recovery

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/layer"
	"slipway/internal/run"
	"slipway/internal/tofu"
)

// Unlock removes the locks of dead runs, on the states and on the hosts. It shows each holder, and
// refuses if the holder is alive or unknown.
func Unlock() run.Command {
	var lockID string
	return run.Command{
		Name:  "unlock",
		Help:  "show the holder of a lock, and remove the lock of a dead run",
		Opens: run.State, ByLayer: true,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&lockID, "lock-id", "", "ID of a lock to remove although its holder is not known to be dead")
		},
		Run: func(ctx context.Context, r *run.Run) error { return unlock(ctx, r, lockID) },
	}
}

func unlock(ctx context.Context, r *run.Run, lockID string) error {
	layers, err := layer.All(r)
	if err != nil {
		return err
	}
	if r.Store == nil {
		return unlockHTTP(ctx, layers, lockID)
	}
	var subjects []hold.Subject
	for _, l := range layers {
		subjects = append(subjects, hold.State(r, l.Config))
	}
	if r.Environment.Deploy != nil && r.OnlyLayer == "" {
		subjects = append(subjects, hold.Hosts(r))
	}
	if r.HasCluster() && r.OnlyLayer == "" {
		subjects = append(subjects, hold.Nodes(r))
	}
	// A lock that has to stay keeps none of the others.
	for _, s := range subjects {
		err = errors.Join(err, unlockOne(ctx, s, lockID))
	}
	return err
}

func unlockOne(ctx context.Context, s hold.Subject, lockID string) error {
	lock, err := s.Run.Store.ReadLock(ctx, s.Key)
	if err != nil {
		return err
	}
	if lock == nil {
		fmt.Fprintf(&s.Run.Report, "%s: not locked\n", s.Name)
		return nil
	}
	fmt.Fprintf(&s.Run.Report, "%s: locked by %s\n", s.Name, hold.DescribeLock(lock))
	err = hold.Replace(ctx, s, lockID, func(context.Context, *hold.Hold, hold.Others) (bool, error) { return true, nil })
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.Run.Report, "%s: unlocked\n", s.Name)
	return nil
}

// unlockHTTP removes the lock with the ID lockID. A server of the http protocol reports the ID only
// to clients that it refuses.
func unlockHTTP(ctx context.Context, layers []*layer.Layer, lockID string) error {
	if lockID == "" || len(layers) != 1 {
		return fault.Refuse(layers[0].Call("unlock")+" --lock-id=<the ID that a refused apply names>", "over HTTP, a lock can only be removed by its ID, and one layer at a time")
	}
	l := layers[0]
	if err := l.Init(ctx); err != nil {
		return err
	}
	if err := l.Tofu(ctx, "force-unlock", tofu.ForceUnlockArgs(lockID)...); err != nil {
		return err
	}
	fmt.Fprintf(&l.Report, "%s: unlocked\n", l.Name)
	return nil
}
