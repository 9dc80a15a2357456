package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"slipway/internal/journal"
	"slipway/internal/ovh"
	"slipway/internal/refusal"
	"slipway/internal/remote"
	"slipway/internal/tofu"
)

// apply makes the infrastructure what the code says: it plans and applies one
// layer after the other, as a later layer may read what an earlier one made. A
// protected environment takes only a plan that was sealed before.
func (s *session) apply(ctx context.Context) error {
	if err := s.timed("open", func() error { return s.open(ctx) }); err != nil {
		return err
	}
	if s.Plan == "" && (s.environment.Protected || s.Digest != "") {
		s.Reviewed = true
	}
	if s.Reviewed && s.store == nil {
		return refusal.New("dagger call apply --env="+s.Environment+" --plan=.slipway/plan", "the state of %s is in no bucket, so no plan is kept there", s.Environment)
	}
	roots, err := s.roots()
	if err != nil {
		return err
	}
	if s.Plan != "" || s.Reviewed {
		return s.applyReviewed(ctx, roots)
	}
	var hosts []remote.Host
	for _, r := range roots {
		outputs, err := r.change(ctx, tofu.Plan{})
		if err != nil {
			return err
		}
		made, err := r.made(outputs)
		if err != nil {
			return err
		}
		hosts = append(hosts, made...)
	}
	return s.await(ctx, hosts)
}

// destroy takes everything away, the last layer first.
func (s *session) destroy(ctx context.Context) error {
	if err := s.timed("open", func() error { return s.open(ctx) }); err != nil {
		return err
	}
	if err := s.confirmed(fmt.Sprintf("destroy takes away all of environment %s", s.Environment)); err != nil {
		return err
	}
	roots, err := s.roots()
	if err != nil {
		return err
	}
	if err := s.guardDestroy(ctx, roots); err != nil {
		return err
	}
	for _, r := range slices.Backward(roots) {
		if _, err := r.change(ctx, tofu.Plan{Destroy: true}); err != nil {
			return err
		}
	}
	return nil
}

// down takes everything away, and then what was kept beside the states: plans and
// the record of the last check.
func (s *session) down(ctx context.Context) error {
	if err := s.destroy(ctx); err != nil || s.store == nil {
		return err
	}
	var keys []string
	for _, prefix := range []string{"plans/" + s.Environment + "/", "drift/" + s.Environment + ".json"} {
		objects, err := s.store.List(ctx, prefix)
		if err != nil {
			return err
		}
		for _, o := range objects {
			keys = append(keys, o.Key)
		}
	}
	for _, key := range keys {
		if err := s.store.Remove(ctx, key); err != nil {
			return err
		}
	}
	fmt.Fprintf(&s.report, "%s: %d kept plans and records were taken away\n", s.Environment, len(keys))
	return nil
}

// guardDestroy has a protected environment's losses allowed one by one.
func (s *session) guardDestroy(ctx context.Context, roots []*root) error {
	if !s.environment.Protected {
		return nil
	}
	var lost []string
	for _, r := range slices.Backward(roots) {
		if err := r.init(ctx); err != nil {
			return err
		}
		summary, err := r.planned(ctx, tofu.Plan{Destroy: true})
		if err != nil {
			return err
		}
		lost = append(lost, summary.Losses()...)
	}
	return s.guard(lost)
}

// change plans a root, and applies the plan if there is something to do. It
// returns the outputs.
func (r *root) change(ctx context.Context, config tofu.Plan) (tofu.Outputs, error) {
	if err := r.refuseRuns(ctx); err != nil {
		return nil, err
	}
	if err := r.init(ctx); err != nil {
		return nil, err
	}
	summary, err := r.planned(ctx, config)
	if err != nil {
		return nil, err
	}
	r.show(summary)
	if summary.Empty() {
		return r.outputs(ctx)
	}
	if err := r.onlyAllowed(summary); err != nil {
		return nil, err
	}
	return r.applyOnce(ctx)
}

// applyOnce applies the saved plan.
func (r *root) applyOnce(ctx context.Context) (tofu.Outputs, error) {
	outputs, err := r.applyPlan(ctx)
	// An answer that was lost on the way can leave us before our own lock. It was
	// ours, nothing had been changed, and now it is gone.
	if errors.Is(err, errOwnLock) {
		r.say("%s: the lock was our own, of an answer that was lost; once more", r.name)
		outputs, err = r.applyPlan(ctx)
	}
	return outputs, err
}

var errOwnLock = errors.New("the state is locked, by this run itself")

// applyPlan applies the saved plan under a journal.
func (r *root) applyPlan(ctx context.Context) (outputs tofu.Outputs, err error) {
	begun := time.Now().UTC()
	var book *journal.Writer
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if r.store != nil {
		header := journal.Header{
			ID: r.RunID, Stage: r.result.Stage, Environment: r.Environment,
			Layer: r.name, Holder: holder(), Started: begun, Creates: r.creates,
		}
		// What is no longer recorded could not be recovered: better to stop.
		if book, err = journal.Open(ctx, r.store, r.recipients, r.key, header, func(err error) { stop(err) }); err != nil {
			return nil, err
		}
	}
	r.say("%s: applying", r.name)
	locked := false
	var failed []journal.Entry // creates that may have made something all the same
	each := r.event(func(e tofu.Event) {
		if e.Type == tofu.OutputsMsg {
			outputs = e.Outputs
		}
		if book == nil {
			return
		}
		if kind, ok := kinds[e.Type]; ok {
			entry := journal.Entry{
				Kind: kind, Time: e.Time, Address: e.Hook.Resource.Address,
				Action: e.Hook.Action, IDKey: e.Hook.IDKey, ID: e.Hook.IDValue,
			}
			if kind == journal.Errored && e.Hook.Action == "create" && ovh.CanFind(e.Hook.Resource.Type) {
				failed = append(failed, entry)
				return
			}
			book.Add(entry)
			// Only the holder of the lock is told of a start: the lock is ours.
			if !locked {
				locked = true
				if lock, err := r.store.ReadLock(ctx, r.key); err == nil && lock != nil {
					book.Add(journal.Entry{Kind: journal.Locked, Time: e.Time, Lock: lock.ID})
				}
			}
		}
	})
	var code int
	err = r.timed("apply "+r.name, func() (err error) {
		code, err = r.tool.Events(ctx, each, r.other, tofu.Apply{Plan: r.planFile()}.Args()...)
		return err
	})
	// What follows is done also when we were asked to stop.
	after := context.WithoutCancel(ctx)
	lost, lostErr := r.rescue(after)
	own, lockErr := r.freeOwnLock(after, begun)
	switch {
	case err == nil && code == tofu.ExitOK:
		r.row.Applied = true
		r.warn()
	case own && r.onlyError("releasing the state lock"):
		// Applied, and now the lock is gone, too.
		r.say("%s: the store did not take the lock back at once", r.name)
		r.row.Applied = true
		r.warn()
		err = nil
	case own && r.onlyError("acquiring the state lock"):
		r.diagnostics = nil
		err = errOwnLock
	case r.store != nil && r.onlyError("acquiring the state lock"):
		r.diagnostics = nil
		err = r.lockedByOther(after)
	default:
		err = r.failed(ctx, "apply", err)
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = errors.Join(err, cause)
		}
	}
	if lost {
		err = errors.Join(err, fmt.Errorf("the state of %s could not be written: it is kept, sealed, in recovery/%s; then: dagger call recover --env=%s", r.name, r.lostName(), r.Environment))
	}
	if book != nil {
		forgotten := r.forgotten(failed, book)
		for _, address := range forgotten {
			err = errors.Join(err, fmt.Errorf("%s was asked for and did not become ready; OVH may have it and charge for it, and it is not in the state: dagger call recover --env=%s takes it in, ready or not", address, r.Environment))
		}
		err = errors.Join(err, book.Close(after, lost || lostErr != nil || len(forgotten) > 0))
	}
	return outputs, errors.Join(err, lostErr, lockErr)
}

// forgotten returns the addresses of failed creates that may have made something. The
// ovh provider takes what it makes into the state only when that is ready: if it does
// not see that, it forgets it, and the next apply would make another. In the journal
// such a create stays in flight, for recover to look for. What OVH refused was not
// made.
func (r *root) forgotten(failed []journal.Entry, book *journal.Writer) (addresses []string) {
	for _, entry := range failed {
		refused := slices.ContainsFunc(r.diagnostics, func(d tofu.Diagnostic) bool {
			text := d.Summary + d.Detail
			return d.Address == entry.Address && strings.HasPrefix(text, "calling Post") && strings.Contains(text, "(status code 4")
		})
		if refused {
			book.Add(entry)
			continue
		}
		addresses = append(addresses, entry.Address)
	}
	return addresses
}

// onlyError says that what tofu complained of is this and nothing else.
func (r *root) onlyError(summary string) bool {
	complains := false
	for _, d := range r.diagnostics {
		if d.Severity == "error" {
			if !strings.Contains(d.Summary, summary) {
				return false
			}
			complains = true
		}
	}
	return complains
}

var kinds = map[string]journal.Kind{
	tofu.ApplyStart: journal.Start, tofu.ApplyComplete: journal.Complete, tofu.ApplyErrored: journal.Errored,
}

// holder is how OpenTofu names this process in a lock.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return "@" + host
}
