package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/journal"
	"slipway/internal/ovh"
	"slipway/internal/refusal"
	"slipway/internal/remote"
	"slipway/internal/tofu"
)

// apply makes the infrastructure what the code says: it plans and applies one
// layer after the other, as a later layer may read what an earlier one made. A
// protected environment takes only a plan that was sealed before.
func (s *Run) apply(ctx context.Context) error {
	if err := s.Timed("open", func() error { return s.Open(ctx) }); err != nil {
		return err
	}
	kept := s.wantsKept()
	if kept && s.Store == nil {
		return refusal.New("dagger call apply --env="+s.Env+" --plan=.slipway/plan", "the state of %s is in no bucket, so no plan is kept there", s.Env)
	}
	roots, err := s.Layers()
	if err != nil {
		return err
	}
	if kept || s.PlanFolder != "" {
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
	return s.Await(ctx, hosts)
}

// wantsKept says that an apply takes the plan that is kept in the bucket: it was told to, or
// has to take one that was reviewed, and was given none.
func (s *Run) wantsKept() bool {
	return s.Reviewed || s.PlanFolder == "" && (s.Environment.Protected || s.Digest != "")
}

// destroy takes everything away, the last layer first.
func (s *Run) destroy(ctx context.Context) error {
	if err := s.Timed("open", func() error { return s.Open(ctx) }); err != nil {
		return err
	}
	if err := s.Confirmed(fmt.Sprintf("destroy takes away all of environment %s", s.Env)); err != nil {
		return err
	}
	roots, err := s.Layers()
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
func (s *Run) down(ctx context.Context) error {
	if err := s.destroy(ctx); err != nil {
		return err
	}
	return s.removeKept(ctx)
}

// removeKept takes away what was kept beside the states.
func (s *Run) removeKept(ctx context.Context) error {
	if s.Store == nil {
		return nil
	}
	var keys []string
	for _, prefix := range []string{"plans/" + s.Env + "/", "drift/" + s.Env + ".json"} {
		objects, err := s.Store.List(ctx, prefix)
		if err != nil {
			return err
		}
		for _, o := range objects {
			keys = append(keys, o.Key)
		}
	}
	for _, key := range keys {
		if err := s.Store.Remove(ctx, key); err != nil {
			return err
		}
	}
	fmt.Fprintf(&s.Report, "%s: %d kept plans and records were taken away\n", s.Env, len(keys))
	return nil
}

// guardDestroy has a protected environment's losses allowed one by one.
func (s *Run) guardDestroy(ctx context.Context, roots []*Layer) error {
	if !s.Environment.Protected {
		return nil
	}
	var lost []string
	for _, r := range slices.Backward(roots) {
		if err := r.Init(ctx); err != nil {
			return err
		}
		summary, err := r.Plan(ctx, tofu.Plan{Destroy: true})
		if err != nil {
			return err
		}
		lost = append(lost, summary.Losses()...)
	}
	return s.guard(lost)
}

// change plans a root, and applies the plan if there is something to do. It
// returns the outputs.
func (r *Layer) change(ctx context.Context, config tofu.Plan) (tofu.Outputs, error) {
	if err := r.RefuseRuns(ctx); err != nil {
		return nil, err
	}
	if err := r.Init(ctx); err != nil {
		return nil, err
	}
	summary, err := r.Plan(ctx, config)
	if err != nil {
		return nil, err
	}
	r.Show(summary)
	if summary.Empty() {
		return r.Outputs(ctx)
	}
	if err := r.onlyAllowed(summary); err != nil {
		return nil, err
	}
	return r.applyPlan(ctx)
}

// applyPlan applies the saved plan, under the lock and a journal.
func (r *Layer) applyPlan(ctx context.Context) (tofu.Outputs, error) {
	working, h, err := r.Take(ctx)
	if err != nil {
		return nil, err
	}
	r.Say("%s: applying", r.Name)
	seen := &applied{hold: h}
	var code int
	err = r.Timed("apply "+r.Name, func() (err error) {
		code, err = r.Tool.Events(working, r.event(seen.event), r.other, tofu.Apply{Plan: r.PlanFile(), Locked: h != nil}.Args()...)
		return err
	})
	// What follows is done also when we were asked to stop.
	after := context.WithoutCancel(ctx)
	lost, lostErr := r.Save(after)
	inOrder := r.inOrder(after, code, err, lost, seen.done)
	// Values that came into being in this apply are known by the state, and only by it.
	r.Unwritten = inOrder != nil || lostErr != nil || r.ComplainsOfState()
	if err == nil && code == tofu.ExitOK && inOrder == nil {
		r.Row.Applied = true
		r.Warn()
	} else {
		if inOrder == nil {
			inOrder = r.doubts(seen)
		}
		err = errors.Join(r.Failed(working, "apply", err), inOrder, stopped(working))
	}
	return seen.outputs, errors.Join(err, lostErr, h.End(after, inOrder == nil && lostErr == nil))
}

// stopped is the reason for which this program itself ended ctx, if there is one.
func stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}

// inOrder says, by an error, why it is not certain that the state holds all that an apply
// did. Only then is there nothing to recover: tofu ended by itself, its last write of the
// state went well, and the store has another state than before, or one that holds what was
// made and not what was deleted.
func (r *Layer) inOrder(ctx context.Context, code int, err error, lost bool, done []journal.Entry) error {
	next := r.Call("recover")
	if r.Store == nil { // over HTTP there is no journal to recover by
		next = "look in the cloud for what is not in: " + r.Call("state-list")
	}
	switch {
	case errors.Is(err, tofu.ErrNotStarted):
		return nil
	case err != nil:
		return fmt.Errorf("what it had done by then may not be in the state; then: %s", next)
	case code != tofu.ExitOK && code != tofu.ExitError:
		return fmt.Errorf("tofu ended with exit code %d, and what it had done by then may not be in the state; then: %s", code, next)
	case lost:
		return fmt.Errorf("the state of %s could not be written: it is kept, sealed, in recovery/%s; then: %s", r.Name, r.LostName(), r.Call("recover"))
	case r.stateNotSaved():
		return fmt.Errorf("the state of %s could not be written, and nothing of it was left; then: %s", r.Name, next)
	case len(done) == 0 || r.Store == nil:
		return nil
	}
	now, err := r.StateStamp(ctx, r.Key)
	if err == nil && now == r.Stamp {
		err = r.holdsAll(ctx, done)
	}
	if err != nil {
		return fmt.Errorf("what was done may not be in the state: %w; then: %s", err, next)
	}
	return nil
}

// stateNotSaved says that tofu told so. See https://github.com/opentofu/opentofu/blob/v1.12.6/internal/backend/local/backend_apply.go
func (r *Layer) stateNotSaved() bool {
	return slices.ContainsFunc(r.Diagnostics, func(d tofu.Diagnostic) bool {
		return d.Severity == "error" && (strings.HasPrefix(d.Summary, "Failed to save state") || strings.HasPrefix(d.Summary, "Failed to persist state"))
	})
}

// holdsAll says, by an error, which of what was made is not in the state, or which of what
// was deleted still is. OpenTofu writes no new state where what it made is as what was there
// before and somebody had deleted.
func (r *Layer) holdsAll(ctx context.Context, done []journal.Entry) error {
	recorded, err := r.Recorded(ctx)
	if err != nil {
		return err
	}
	return missing(recorded, journal.Take(done))
}

// missing compares what is in the state with what was made and deleted.
func missing(recorded map[string]*tfjson.StateResource, account journal.Account) error {
	for _, e := range account.Made {
		resource := recorded[e.Address]
		if resource == nil || e.ID != "" && fmt.Sprint(resource.AttributeValues[e.IDKey]) != e.ID {
			return fmt.Errorf("%s was made, and the store still has the state of before", e.Address)
		}
	}
	for _, e := range account.Gone {
		if recorded[e.Address] != nil {
			return fmt.Errorf("%s was deleted, and the store still has the state of before", e.Address)
		}
	}
	return nil
}

// applied is what an apply is seen to do.
type applied struct {
	hold    *Hold
	outputs tofu.Outputs
	done    []journal.Entry // creates and deletes that are complete
	failed  []journal.Entry // creates that may have made something all the same
}

// event takes note of an event, in the journal too.
func (a *applied) event(e tofu.Event) {
	if e.Type == tofu.OutputsMsg {
		a.outputs = e.Outputs
	}
	kind, ok := kinds[e.Type]
	if !ok {
		return
	}
	entry := journal.Entry{
		Kind: kind, Time: e.Time, Address: e.Hook.Resource.Address,
		Action: e.Hook.Action, IDKey: e.Hook.IDKey, ID: e.Hook.IDValue,
	}
	if kind == journal.Complete && e.Hook.Action != "update" {
		a.done = append(a.done, entry)
	}
	switch {
	case a.hold == nil:
	case kind == journal.Errored && entry.Action == "create":
		a.failed = append(a.failed, entry) // until it is known why
	default:
		a.hold.Journal.Add(entry)
	}
}

// doubts settles the creates that failed, of an apply that ended in order. In the journal,
// one that may have made something stays in flight, for recover to look for.
func (r *Layer) doubts(a *applied) error {
	if a.hold == nil {
		return nil
	}
	var doubts []error
	for _, entry := range a.failed {
		switch {
		case r.providerDied():
			doubts = append(doubts, fmt.Errorf("the provider of %s died while it was made, so it may be there and not be in the state: %s looks for it", entry.Address, r.Call("recover")))
		case r.forgotten(entry):
			doubts = append(doubts, fmt.Errorf("%s was asked for and did not become ready; OVH may have it and charge for it, and it is not in the state: %s takes it in, ready or not", entry.Address, r.Call("recover")))
		default:
			a.hold.Journal.Add(entry)
		}
	}
	return errors.Join(doubts...)
}

// providerDied says that tofu lost a provider while that worked: what it was asked for may
// have been done.
func (r *Layer) providerDied() bool {
	return slices.ContainsFunc(r.Diagnostics, func(d tofu.Diagnostic) bool {
		return d.Severity == "error" && (strings.HasPrefix(d.Summary, "Plugin did not respond") || strings.HasPrefix(d.Summary, "Plugin error") || strings.HasPrefix(d.Summary, "Request cancelled"))
	})
}

// forgotten says that a create that failed may have made something. The ovh provider takes
// what it makes into the state only when that is ready: if it does not see that, it forgets
// it, and the next apply would make another. What OVH refused was not made.
func (r *Layer) forgotten(entry journal.Entry) bool {
	if !ofKind(entry.Address, ovh.CanFind) {
		return false
	}
	return !slices.ContainsFunc(r.Diagnostics, func(d tofu.Diagnostic) bool {
		text := d.Summary + d.Detail
		return d.Address == entry.Address && strings.HasPrefix(text, "calling Post") && strings.Contains(text, "(status code 4")
	})
}

var kinds = map[string]journal.Kind{
	tofu.ApplyStart: journal.Start, tofu.ApplyComplete: journal.Complete, tofu.ApplyErrored: journal.Errored,
}
