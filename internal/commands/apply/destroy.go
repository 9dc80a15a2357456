package apply

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	"slipway/internal/clusters"
	"slipway/internal/layer"
	"slipway/internal/playbook"
	"slipway/internal/run"
	"slipway/internal/tofu"
)

// Destroy deletes everything that the code created, the last layer first.
func Destroy() run.Command {
	var o options
	return run.Command{
		Name: "destroy", Help: "delete everything that the code created, the last layer first",
		Opens: run.State, ByLayer: true,
		Flags: func(f *flag.FlagSet) { destroyFlags(f, &o) },
		Run:   func(ctx context.Context, r *run.Run) error { return destroy(ctx, r, o) },
	}
}

// Down destroys the environment, and then deletes what is stored beside the states: plans and the
// record of the last drift check.
func Down() run.Command {
	var o options
	return run.Command{
		Name: "down", Help: "delete everything that the code created, and its stored plans",
		Opens: run.State,
		Flags: func(f *flag.FlagSet) { destroyFlags(f, &o) },
		Run:   func(ctx context.Context, r *run.Run) error { return down(ctx, r, o) },
	}
}

func destroyFlags(f *flag.FlagSet, o *options) {
	f.StringVar(&o.confirm, "confirm", "", "the environment's name, as confirmation")
	allowDestroy(f, o)
}

func destroy(ctx context.Context, r *run.Run, o options) error {
	if err := r.Confirmed(o.confirm, fmt.Sprintf("destroy deletes everything in environment %s", r.Env)); err != nil {
		return err
	}
	layers, err := layer.All(r)
	if err != nil {
		return err
	}
	if err := guardDestroy(ctx, r, layers, o); err != nil {
		return err
	}
	for _, l := range slices.Backward(layers) {
		if _, err := change(ctx, l, tofu.Plan{Destroy: true}, o); err != nil {
			return err
		}
	}
	if r.OnlyLayer != "" {
		return nil
	}
	return errors.Join(playbook.Forget(ctx, r), clusters.Forget(ctx, r))
}

func down(ctx context.Context, r *run.Run, o options) error {
	if err := destroy(ctx, r, o); err != nil {
		return err
	}
	return removeKept(ctx, r)
}

// removeKept deletes what is stored beside the states.
func removeKept(ctx context.Context, r *run.Run) error {
	if r.Store == nil {
		return nil
	}
	var keys []string
	for _, prefix := range []string{"plans/" + r.Env + "/", "drift/" + r.Env + ".json"} {
		objects, err := r.Store.List(ctx, prefix)
		if err != nil {
			return err
		}
		for _, o := range objects {
			keys = append(keys, o.Key)
		}
	}
	for _, key := range keys {
		if err := r.Store.Remove(ctx, key); err != nil {
			return err
		}
	}
	fmt.Fprintf(&r.Report, "%s: deleted %d stored plans and records\n", r.Env, len(keys))
	return nil
}

// guardDestroy refuses to destroy a protected environment unless each loss is allowed.
func guardDestroy(ctx context.Context, r *run.Run, layers []*layer.Layer, o options) error {
	if !r.Environment.Protected {
		return nil
	}
	var lost []string
	for _, l := range slices.Backward(layers) {
		if err := l.Init(ctx); err != nil {
			return err
		}
		summary, err := l.Plan(ctx, tofu.Plan{Destroy: true})
		if err != nil {
			return err
		}
		lost = append(lost, summary.Losses()...)
	}
	return guard(r, lost, o)
}
