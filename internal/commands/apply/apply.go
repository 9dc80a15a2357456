// Package apply contains the commands that change the infrastructure: up, bootstrap, apply, destroy
// and down.
package apply

import (
	"context"
	"errors"
	"flag"

	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/hosts"
	"slipway/internal/layer"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/sealedplan"
	"slipway/internal/tofu"
)

// options are the options of apply, destroy and down.
type options struct {
	reviewed     bool // apply the plan stored for these files
	plan         sealedplan.Source
	allowDestroy string // comma-separated addresses that a protected environment may lose
	quorumLost   bool   // change control planes although etcd has no leader
	confirm      string // the environment's name
}

// Apply makes the infrastructure match the code. It plans and applies one layer after the other,
// because a later layer may read what an earlier one created. A protected environment only accepts
// a plan that was sealed before.
func Apply() run.Command {
	var o options
	return run.Command{
		Name:  "apply",
		Help:  "make the infrastructure match the code, and show the outputs",
		Opens: run.State, ByLayer: true, WithCluster: true,
		Flags: func(f *flag.FlagSet) {
			f.BoolVar(&o.reviewed, "reviewed", false, "apply the plan stored in the state's bucket for these files")
			f.StringVar(&o.plan.Folder, "plan", "", "results of an earlier plan: apply its sealed plan")
			f.StringVar(&o.plan.Digest, "digest", "", "digest of the reviewed plan: apply only that plan")
			allowDestroy(f, &o)
			f.BoolVar(&o.quorumLost, "quorum-lost", false, "change control planes although etcd has no leader, as most of them are down")
		},
		Run: func(ctx context.Context, r *run.Run) error { return apply(ctx, r, o) },
	}
}

func allowDestroy(f *flag.FlagSet, o *options) {
	f.StringVar(&o.allowDestroy, "allow-destroy", "", "comma-separated addresses that a protected environment may lose")
}

func apply(ctx context.Context, r *run.Run, o options) error {
	c, err := openCluster(r, o)
	if err != nil {
		return err
	}
	made, err := applyAll(ctx, r, c, o)
	if err != nil {
		return err
	}
	if err := hosts.Await(ctx, r, made.hosts()); err != nil || c == nil {
		return err
	}
	return c.apply(ctx, made)
}

// applyAll applies the layers, by plans of its own or by the reviewed ones. It also finds the reviewed plan of
// the cluster, if that is not nil.
func applyAll(ctx context.Context, r *run.Run, c *clusterPart, o options) (made, error) {
	kept := wantsKept(r, o)
	if kept && r.Store == nil {
		return nil, fault.Refuse("dagger call apply --env="+r.Env+" --plan=.slipway/plan", "the state of %s is not in a bucket, so no plan is stored there", r.Env)
	}
	layers, err := layer.All(r)
	if err != nil {
		return nil, err
	}
	if kept || o.plan.Folder != "" {
		return applyReviewed(ctx, r, layers, c, o)
	}
	return applyEach(ctx, layers, o)
}

// made is what an apply has created, by layer.
type made []madeLayer

type madeLayer struct {
	layer   *layer.Layer
	outputs tofu.Outputs
	hosts   []remote.Host
}

func (m made) hosts() (all []remote.Host) {
	for _, l := range m {
		all = append(all, l.hosts...)
	}
	return all
}

// applyEach applies one layer after the other.
func applyEach(ctx context.Context, layers []*layer.Layer, o options) (all made, err error) {
	for _, l := range layers {
		outputs, err := change(ctx, l, tofu.Plan{}, o)
		if err != nil {
			return all, err
		}
		found, err := showCreated(l, outputs)
		if err != nil {
			return all, err
		}
		all = append(all, madeLayer{l, outputs, found})
	}
	return all, nil
}

// wantsKept reports whether an apply uses the plan stored in the bucket: it was told to, or it
// needs a reviewed plan and was given none.
func wantsKept(r *run.Run, o options) bool {
	return o.reviewed || o.plan.Folder == "" && (r.Environment.Protected || o.plan.Digest != "")
}

// showCreated shows the outputs of an apply, and returns the hosts in them.
func showCreated(l *layer.Layer, outputs tofu.Outputs) ([]remote.Host, error) {
	l.ShowOutputs(outputs)
	return hosts.Of(l, outputs)
}

// change plans a layer and, if there are changes, applies the plan. It returns the outputs.
func change(ctx context.Context, l *layer.Layer, config tofu.Plan, o options) (tofu.Outputs, error) {
	if err := hold.RefuseRuns(ctx, hold.State(l.Run, l.Config)); err != nil {
		return nil, err
	}
	if err := l.Init(ctx); err != nil {
		return nil, err
	}
	summary, err := l.Plan(ctx, config)
	if err != nil {
		return nil, err
	}
	l.Show(summary)
	if summary.Empty() {
		return l.Outputs(ctx)
	}
	if err := onlyAllowed(l, summary, o); err != nil {
		return nil, err
	}
	return applyOwn(ctx, l)
}

// applyOwn applies the plan that this run has made.
func applyOwn(ctx context.Context, l *layer.Layer) (tofu.Outputs, error) {
	outputs, err := applyPlan(ctx, l)
	if errors.Is(err, errStale) {
		err = fault.Refuse("repeat it: "+l.Call(l.Result.Stage), "%s: %v", l.Name, err)
	}
	return outputs, err
}

// applyReviewed applies the sealed plans and nothing else. All of them are verified before the
// first tool starts.
func applyReviewed(ctx context.Context, r *run.Run, layers []*layer.Layer, c *clusterPart, o options) (all made, err error) {
	source := o.plan
	if err := source.CheckDigest(r); err != nil {
		return nil, err
	}
	found, err := source.Find(ctx, r, layers, c.part())
	if err != nil {
		return nil, err
	}
	if err := source.RefuseUnapproved(ctx, r, found.Digest); err != nil {
		return nil, err
	}
	if err := c.review(found, source); err != nil {
		return nil, err
	}
	var lost []string
	for _, p := range found.Layers {
		lost = append(lost, p.Losses...)
	}
	if err := guard(r, lost, o); err != nil {
		return nil, err
	}
	var postponed []error
	for i, l := range layers {
		p := found.Layers[i]
		if p.After != "" {
			postponed = append(postponed, fault.New(fault.Unfinished, source.PlanCommand(r), "%s is not applied: it could not be planned before %s was applied", l.Name, p.After))
			continue
		}
		outputs, err := applySealed(ctx, l, p, source)
		if err != nil {
			return nil, err
		}
		found, err := showCreated(l, outputs)
		if err != nil {
			return nil, err
		}
		all = append(all, madeLayer{l, outputs, found})
	}
	return all, errors.Join(postponed...)
}
