package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"slipway/internal/journal"
	"slipway/internal/refusal"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

const deadAfter = journal.DeadAfter

// runs are those that are at work on the root's state, and those that were
// interrupted.
func (r *root) runs(ctx context.Context) (live, dead []journal.Run, err error) {
	runs, err := journal.Runs(ctx, r.store, r.identity, r.key)
	for _, run := range runs {
		silent, signs := run.Silent()
		switch {
		case run.ID == r.RunID:
		case signs && silent < r.DeadAfter:
			live = append(live, run)
		default:
			dead = append(dead, run)
		}
	}
	return live, dead, err
}

// refuseRuns refuses to begin a change beside another, or on top of one that was
// interrupted.
func (r *root) refuseRuns(ctx context.Context) error {
	if r.store == nil {
		return nil
	}
	live, dead, err := r.runs(ctx)
	if err != nil {
		return err
	}
	if len(live) > 0 {
		return r.locked("the state of %s is in use by %s", r.name, describe(live[0]))
	}
	if len(dead) > 0 {
		return refusal.New(r.command("recover"), "%s was interrupted, and what it made may not be in the state of %s", describe(dead[0]), r.name)
	}
	lock, err := r.store.ReadLock(ctx, r.key)
	if err == nil && lock != nil {
		err = r.locked("the state of %s is locked by %s", r.name, describeLock(lock))
	}
	return err
}

// noteRuns tells a reader of a plan what else happens to the state.
func (r *root) noteRuns(ctx context.Context) error {
	if r.store == nil {
		return nil
	}
	live, dead, err := r.runs(ctx)
	for _, run := range live {
		r.say("note: %s is changing %s at this moment: the plan may be out of date at once", describe(run), r.name)
	}
	for _, run := range dead {
		r.say("note: %s was interrupted: before the next apply, run %s", describe(run), r.command("recover"))
	}
	return err
}

// freeOwnLock takes away a lock that this run took since begun and did not give
// back, because an answer of the store was lost. That tofu has ended is certain.
func (r *root) freeOwnLock(ctx context.Context, begun time.Time) (bool, error) {
	if r.store == nil {
		return false, nil
	}
	lock, err := r.store.ReadLock(ctx, r.key)
	if err != nil || lock == nil {
		return false, err
	}
	if lock.Created.Before(begun) || !strings.HasSuffix(lock.Who, holder()) {
		return false, nil
	}
	// All containers have the same host name: another run may be its holder.
	live, _, err := r.runs(ctx)
	if err != nil || len(live) > 0 {
		return false, err
	}
	return true, r.store.Unlock(ctx, r.key, lock.ID)
}

// lockedByOther names the holder of the lock that was in the way.
func (r *root) lockedByOther(ctx context.Context) error {
	live, _, err := r.runs(ctx)
	if err == nil && len(live) > 0 {
		return r.locked("the state of %s is locked by %s", r.name, describe(live[0]))
	}
	lock, err := r.store.ReadLock(ctx, r.key)
	if err != nil {
		return err
	}
	if lock == nil {
		return refusal.New(r.command(r.result.Stage), "the state of %s was locked by a run that has ended since", r.name)
	}
	return r.locked("the state of %s is locked by %s", r.name, describeLock(lock))
}

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
		lock, err := r.store.ReadLock(ctx, r.key)
		if err != nil {
			return err
		}
		if lock == nil {
			fmt.Fprintf(&s.report, "%s: not locked\n", r.name)
			continue
		}
		fmt.Fprintf(&s.report, "%s: locked by %s\n", r.name, describeLock(lock))
		live, dead, err := r.runs(ctx)
		if err != nil {
			return err
		}
		if err := r.release(ctx, lock, live, dead); err != nil {
			return err
		}
		fmt.Fprintf(&s.report, "%s: unlocked\n", r.name)
	}
	return nil
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
	code, err := r.tool.Run(ctx, &r.noise, tofu.ForceUnlockArgs(s.LockID)...)
	if err != nil || code != tofu.ExitOK {
		return r.failed(ctx, "force-unlock", err)
	}
	fmt.Fprintf(&s.report, "%s: unlocked\n", r.name)
	return nil
}

// release takes away a lock whose holder is among the dead, or that LockID names.
// It refuses while a run is alive. There may be no lock.
func (r *root) release(ctx context.Context, lock *state.Lock, live, dead []journal.Run) error {
	if len(live) > 0 {
		silent, _ := live[0].Silent()
		wait := (r.DeadAfter - silent).Round(time.Second)
		return refusal.New(fmt.Sprintf("wait until it has ended; should it be dead, repeat this in %s", wait), "%s is alive: its last sign was %s ago", describe(live[0]), silent.Round(time.Second))
	}
	if lock == nil {
		return nil
	}
	if !holds(dead, lock) && r.LockID != lock.ID {
		if r.LockID != "" {
			return refusal.New(r.command("unlock")+" --lock-id="+lock.ID, "--lock-id is %q, and the lock's is %s", r.LockID, lock.ID)
		}
		return refusal.New("make sure of it, then: "+r.command("unlock")+" --lock-id="+lock.ID, "the lock of %s is no run's of this program, so nothing shows that %s is dead", r.name, lock.Who)
	}
	return r.store.Unlock(ctx, r.key, lock.ID)
}

// holds says whether the lock belongs to one of the dead runs: the journal names
// it, or it was taken by the same user and host between the run's start and its
// last sign of life.
func holds(dead []journal.Run, lock *state.Lock) bool {
	for _, run := range dead {
		if run.Lock() == lock.ID {
			return true
		}
		if run.Lock() == "" && strings.HasSuffix(lock.Who, run.Holder) && !lock.Created.Before(run.Started) {
			return true
		}
	}
	return false
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
	return fmt.Sprintf("%s since %s (%s, lock %s)", plain(lock.Who), lock.Created.UTC().Format(time.DateTime+" MST"), plain(strings.TrimPrefix(lock.Operation, "OperationType")), lock.ID)
}
