package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway/internal/journal"
	"slipway/internal/refusal"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// unlock takes away the locks of runs that are dead. It shows each holder, and
// refuses one that is alive or unknown.
func (s *Run) unlock(ctx context.Context) error {
	if err := s.Open(ctx); err != nil {
		return err
	}
	roots, err := s.Layers()
	if err != nil {
		return err
	}
	if s.Store == nil {
		return s.unlockHTTP(ctx, roots)
	}
	for _, r := range roots {
		if err := r.unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *Layer) unlock(ctx context.Context) error {
	lock, err := r.Store.ReadLock(ctx, r.Key)
	if err != nil {
		return err
	}
	if lock == nil {
		fmt.Fprintf(&r.Report, "%s: not locked\n", r.Name)
		return nil
	}
	fmt.Fprintf(&r.Report, "%s: locked by %s\n", r.Name, DescribeLock(lock))
	_, h, err := r.Alone(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(r.release(ctx), h.End(ctx, true)); err != nil {
		return err
	}
	fmt.Fprintf(&r.Report, "%s: unlocked\n", r.Name)
	return nil
}

// Alone opens the journal of a run that takes locks of others away, and refuses while
// another is at work. It opens before it looks: of two that come at once, one at least
// sees the other.
func (r *Layer) Alone(ctx context.Context) (context.Context, *Hold, error) {
	o, err := r.Look(ctx)
	if err == nil {
		err = r.refuseLive(o)
	}
	if err != nil {
		return nil, nil, err
	}
	working, h, err := r.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	if o, err = r.Look(ctx); err == nil {
		err = r.refuseLive(o)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.End(ctx, true))
	}
	return working, h, nil
}

func (r *Layer) refuseLive(o Others) error {
	if len(o.Live) == 0 {
		return nil
	}
	silent := o.Live[0].Silent()
	return refusal.New(fmt.Sprintf("wait until it has ended; should it be dead, repeat this in %s", (r.DeadAfter-silent).Round(time.Second)),
		"%s is alive: its last sign was %s ago", Describe(o.Live[0]), silent.Round(time.Second))
}

// release takes away a lock whose holder is among the dead, or that LockID names. It is
// for one who is alone. There may be no lock.
func (r *Layer) release(ctx context.Context) error {
	o, err := r.Look(ctx)
	if err != nil {
		return err
	}
	lock, err := r.Store.ReadLock(ctx, r.Key)
	if err != nil || lock == nil {
		return err
	}
	if err := r.mayRelease(o, *lock); err != nil {
		return err
	}
	return r.Store.Unlock(ctx, r.Key, lock.ID)
}

// mayRelease refuses to take away a lock that is no dead run's, unless LockID names it.
func (r *Layer) mayRelease(o Others, lock state.Lock) error {
	holds := func(run journal.Run) bool { return run.Holds(lock) }
	if slices.ContainsFunc(o.Dead, holds) || r.LockID == lock.ID {
		return nil
	}
	if i := slices.IndexFunc(o.Over, holds); i >= 0 {
		if silent := o.Over[i].Silent(); silent < r.DeadAfter {
			return refusal.New(fmt.Sprintf("repeat this in %s", (r.DeadAfter-silent).Round(time.Second)), "%s has just ended, and is giving the lock of %s back", Describe(o.Over[i]), r.Name)
		}
		return nil
	}
	if r.LockID != "" {
		return refusal.New(r.Call("unlock")+" --lock-id="+lock.ID, "--lock-id is %q, and the lock's is %s", r.LockID, lock.ID)
	}
	return refusal.New("make sure of it, then: "+r.Call("unlock")+" --lock-id="+lock.ID, "no journal names the lock of %s, so nothing shows that %s is dead", r.Name, plain(lock.Who))
}

// unlockHTTP takes away the lock that LockID names: a server of the http protocol
// tells its ID only to those whom it refuses.
func (s *Run) unlockHTTP(ctx context.Context, roots []*Layer) error {
	if s.LockID == "" || len(roots) != 1 {
		return refusal.New(roots[0].Call("unlock")+" --lock-id=<the ID that a refused apply names>", "over HTTP, a lock can only be taken away by its ID, and one layer at a time")
	}
	r := roots[0]
	if err := r.Init(ctx); err != nil {
		return err
	}
	if err := r.Tofu(ctx, "force-unlock", tofu.ForceUnlockArgs(s.LockID)...); err != nil {
		return err
	}
	fmt.Fprintf(&s.Report, "%s: unlocked\n", r.Name)
	return nil
}

// withStore opens the environment for a stage that works on the store itself.
func (s *Run) withStore(ctx context.Context) ([]*Layer, error) {
	if err := s.Open(ctx); err != nil {
		return nil, err
	}
	if s.Store == nil {
		return nil, refusal.New("use the tools of the server at "+s.Environment.State.HTTP.Address, "%s needs a state in S3: over HTTP, locks cannot be read", s.Result.Stage)
	}
	return s.Layers()
}

// Call is that of a stage on this root.
func (r *Layer) Call(stage string) string {
	command := "dagger call " + stage + " --env=" + r.Env
	if len(r.Environment.Layers) > 1 {
		command += " --layer=" + r.Name
	}
	return command
}

func Describe(run journal.Run) string {
	if run.Started.IsZero() {
		return "run " + run.ID
	}
	return fmt.Sprintf("run %s (%s, begun %s)", run.ID, run.Stage, run.Started.Format(time.DateTime+" MST"))
}

func DescribeLock(lock *state.Lock) string {
	return fmt.Sprintf("%s since %s (%s, lock %s)", plain(lock.Who), lock.Created.UTC().Format(time.DateTime+" MST"), plain(strings.TrimPrefix(lock.Operation, "OperationType")), plain(lock.ID))
}
