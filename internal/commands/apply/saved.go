package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/rescue"
	"slipway/internal/sealedplan"
	"slipway/internal/tofu"
)

// applyPlan applies a layer's saved plan, with a lock and a journal. It returns the outputs.
// The error is errStale if the state has changed since the plan was made.
func applyPlan(ctx context.Context, l *layer.Layer) (tofu.Outputs, error) {
	state := hold.State(l.Run, l.Config)
	state.Commit, state.Inputs, state.Creates, state.Replaces = l.Commit, l.Inputs, l.Creates, l.Replaces
	working, h, err := hold.Take(ctx, state)
	if err != nil {
		return nil, err
	}
	l.Say("%s: applying", l.Name)
	seen := &recorder{hold: h}
	var e ending
	_ = l.Timed("apply "+l.Name, func() error {
		e.code, e.err = l.Events(working, seen.event, tofu.Apply{Plan: l.PlanFile(), Locked: h != nil}.Args()...)
		return nil
	})
	return seen.outputs, closeApply(working, context.WithoutCancel(ctx), l, seen, e)
}

// closeApply does what has to be done after an apply, even if we were asked to stop: it saves a
// state that could not be written, finds out whether there is something to recover, and releases
// the lock. working has ended if Slipway itself stopped the apply.
func closeApply(working, ctx context.Context, l *layer.Layer, seen *recorder, e ending) error {
	lost, lostErr := rescue.Save(ctx, l)
	if lost {
		e.lost = rescue.FileName(l)
	}
	e.diagnostics = l.Diagnostics
	doubt := e.doubt()
	if doubt == nil && len(seen.done) > 0 && l.Store != nil {
		doubt = unrecorded(ctx, l, seen.done)
	}
	if doubt != nil {
		doubt = fault.Fail(afterDoubt(l), "%w", doubt)
	}
	// Only the state knows the values that this apply created.
	l.Unwritten = doubt != nil || lostErr != nil || l.ComplainsOfState()
	var err error
	if e.succeeded() && doubt == nil {
		l.Row.Applied = true
		l.Warn()
	} else {
		if doubt == nil {
			doubt = settleFailed(l, seen)
		}
		err = errors.Join(l.Failed(working, "apply", e.err), doubt, hold.Stopped(working))
		if e.stale() && len(seen.done) == 0 {
			err = errors.Join(errStale, err) // first, because it explains the rest
		}
	}
	return errors.Join(err, lostErr, seen.hold.End(ctx, doubt == nil && lostErr == nil))
}

// afterDoubt returns what to do if the state may not record an apply.
func afterDoubt(l *layer.Layer) string {
	if l.Store == nil { // over HTTP there is no journal for recover
		return l.Call("state-list") + "   # compare it with the cloud"
	}
	return l.Call("recover")
}

// unrecorded returns an error for what an apply did but the state does not record. Normally the
// state has a new stamp. It may also already match: OpenTofu does not write a new state when it
// recreates a recorded resource that somebody had deleted.
func unrecorded(ctx context.Context, l *layer.Layer, done []journal.Entry) error {
	now, err := l.StateStamp(ctx, l.Key)
	if err == nil && now == l.Stamp {
		var recorded map[string]*tfjson.StateResource
		if recorded, err = l.Recorded(ctx); err == nil {
			err = missing(recorded, journal.Replay(done))
		}
	}
	if err != nil {
		return fmt.Errorf("the state may not record what was done: %w", err)
	}
	return nil
}

// missing compares the state with what was created and deleted.
func missing(recorded map[string]*tfjson.StateResource, outcome journal.Outcome) error {
	for _, e := range outcome.Created {
		resource := recorded[e.Address]
		if resource == nil || e.ID != "" && fmt.Sprint(resource.AttributeValues[e.IDKey]) != e.ID {
			return fmt.Errorf("%s was created, but the store still has the previous state", e.Address)
		}
	}
	for _, e := range outcome.Deleted {
		if recorded[e.Address] != nil {
			return fmt.Errorf("%s was deleted, but the store still has the previous state", e.Address)
		}
	}
	return nil
}

// applySealed applies a verified plan.
func applySealed(ctx context.Context, l *layer.Layer, p sealedplan.Plan, source sealedplan.Source) (tofu.Outputs, error) {
	l.Reportf("the plan of run %s, made %s", p.RunID, p.Made())
	if err := hold.RefuseRuns(ctx, hold.State(l.Run, l.Config)); err != nil {
		return nil, err
	}
	if err := l.Init(ctx); err != nil {
		return nil, err
	}
	if err := source.RefuseLockFile(l, p); err != nil {
		return nil, err
	}
	if !p.Changes {
		l.Report.WriteString(l.Name + ": No changes.\n")
		return l.Outputs(ctx)
	}
	if err := source.Unseal(l, p); err != nil {
		return nil, err
	}
	summary, err := l.ReadPlan(ctx)
	if err != nil {
		return nil, err
	}
	l.Show(summary)
	if err := source.RefuseLosses(l, p, summary); err != nil {
		return nil, err
	}
	return applyOnce(ctx, l, p, source)
}

// applyOnce applies the unsealed plan, unless another run has already started to.
func applyOnce(ctx context.Context, l *layer.Layer, p sealedplan.Plan, source sealedplan.Source) (tofu.Outputs, error) {
	release, err := source.Claim(ctx, l, p)
	if err != nil {
		return nil, err
	}
	outputs, err := applyPlan(ctx, l)
	if errors.Is(err, errStale) {
		return nil, source.Refuse(l.Run, "%s: %v", l.Name, err)
	}
	if fault.Is(err, fault.Refused) { // another run has the lock, and nothing was started
		err = errors.Join(err, release(context.WithoutCancel(ctx)))
	}
	return outputs, err
}
