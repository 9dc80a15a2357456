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
func (s *session) unlock(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	roots, err := s.roots()
	if err != nil {
		return err
	}
	if s.store == nil {
		return s.unlockHTTP(ctx, roots)
	}
	for _, r := range roots {
		if err := r.unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *root) unlock(ctx context.Context) error {
	lock, err := r.store.ReadLock(ctx, r.key)
	if err != nil {
		return err
	}
	if lock == nil {
		fmt.Fprintf(&r.report, "%s: not locked\n", r.name)
		return nil
	}
	fmt.Fprintf(&r.report, "%s: locked by %s\n", r.name, describeLock(lock))
	_, h, err := r.alone(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(r.release(ctx), h.end(ctx, true)); err != nil {
		return err
	}
	fmt.Fprintf(&r.report, "%s: unlocked\n", r.name)
	return nil
}

// alone opens the journal of a run that takes locks of others away, and refuses while
// another is at work. It opens before it looks: of two that come at once, one at least
// sees the other.
func (r *root) alone(ctx context.Context) (context.Context, *hold, error) {
	o, err := r.others(ctx)
	if err == nil {
		err = r.refuseLive(o)
	}
	if err != nil {
		return nil, nil, err
	}
	working, h, err := r.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	if o, err = r.others(ctx); err == nil {
		err = r.refuseLive(o)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.end(ctx, true))
	}
	return working, h, nil
}

func (r *root) refuseLive(o others) error {
	if len(o.live) == 0 {
		return nil
	}
	silent := o.live[0].Silent()
	return refusal.New(fmt.Sprintf("wait until it has ended; should it be dead, repeat this in %s", (r.DeadAfter-silent).Round(time.Second)),
		"%s is alive: its last sign was %s ago", describe(o.live[0]), silent.Round(time.Second))
}

// release takes away a lock whose holder is among the dead, or that LockID names. It is
// for one who is alone. There may be no lock.
func (r *root) release(ctx context.Context) error {
	o, err := r.others(ctx)
	if err != nil {
		return err
	}
	lock, err := r.store.ReadLock(ctx, r.key)
	if err != nil || lock == nil {
		return err
	}
	if err := r.mayRelease(o, *lock); err != nil {
		return err
	}
	return r.store.Unlock(ctx, r.key, lock.ID)
}

// mayRelease refuses to take away a lock that is no dead run's, unless LockID names it.
func (r *root) mayRelease(o others, lock state.Lock) error {
	holds := func(run journal.Run) bool { return run.Holds(lock) }
	if slices.ContainsFunc(o.dead, holds) || r.LockID == lock.ID {
		return nil
	}
	if i := slices.IndexFunc(o.over, holds); i >= 0 {
		if silent := o.over[i].Silent(); silent < r.DeadAfter {
			return refusal.New(fmt.Sprintf("repeat this in %s", (r.DeadAfter-silent).Round(time.Second)), "%s has just ended, and is giving the lock of %s back", describe(o.over[i]), r.name)
		}
		return nil
	}
	if r.LockID != "" {
		return refusal.New(r.command("unlock")+" --lock-id="+lock.ID, "--lock-id is %q, and the lock's is %s", r.LockID, lock.ID)
	}
	return refusal.New("make sure of it, then: "+r.command("unlock")+" --lock-id="+lock.ID, "no journal names the lock of %s, so nothing shows that %s is dead", r.name, plain(lock.Who))
}

// unlockHTTP takes away the lock that LockID names: a server of the http protocol
// tells its ID only to those whom it refuses.
func (s *session) unlockHTTP(ctx context.Context, roots []*root) error {
	if s.LockID == "" || len(roots) != 1 {
		return refusal.New(roots[0].command("unlock")+" --lock-id=<the ID that a refused apply names>", "over HTTP, a lock can only be taken away by its ID, and one layer at a time")
	}
	r := roots[0]
	if err := r.init(ctx); err != nil {
		return err
	}
	if err := r.run(ctx, "force-unlock", tofu.ForceUnlockArgs(s.LockID)...); err != nil {
		return err
	}
	fmt.Fprintf(&s.report, "%s: unlocked\n", r.name)
	return nil
}

// withStore opens the environment for a stage that works on the store itself.
func (s *session) withStore(ctx context.Context) ([]*root, error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if s.store == nil {
		return nil, refusal.New("use the tools of the server at "+s.environment.State.HTTP.Address, "%s needs a state in S3: over HTTP, locks cannot be read", s.result.Stage)
	}
	return s.roots()
}

// command is that of a stage on this root.
func (r *root) command(stage string) string {
	command := "dagger call " + stage + " --env=" + r.Environment
	if len(r.environment.Layers) > 1 {
		command += " --layer=" + r.name
	}
	return command
}

func describe(run journal.Run) string {
	if run.Started.IsZero() {
		return "run " + run.ID
	}
	return fmt.Sprintf("run %s (%s, begun %s)", run.ID, run.Stage, run.Started.Format(time.DateTime+" MST"))
}

func describeLock(lock *state.Lock) string {
	return fmt.Sprintf("%s since %s (%s, lock %s)", plain(lock.Who), lock.Created.UTC().Format(time.DateTime+" MST"), plain(strings.TrimPrefix(lock.Operation, "OperationType")), plain(lock.ID))
}
