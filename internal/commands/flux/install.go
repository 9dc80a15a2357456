package flux

import (
	"context"
	"errors"

	"slipway/internal/fault"
	"slipway/internal/flux"
	"slipway/internal/kubernetes"
	"slipway/internal/printable"
	"slipway/internal/reconcile"
	"slipway/internal/run"
)

// Install installs Flux in a cluster.
func Install() run.Command {
	return run.Command{
		Name: "flux-install", Help: "install Flux in a cluster as flux.yaml describes it, and wait until it has reconciled",
		Opens: run.State,
		Run:   install,
	}
}

func install(ctx context.Context, r *run.Run) error {
	i, err := reconcile.Read(r)
	if errors.Is(err, flux.ErrNone) {
		return fault.Refuse("$EDITOR "+printable.Word(flux.Path(r.Env))+"   # its keys: environments/flux.schema.json", "environment %s has no Flux: there is no %s", r.Env, flux.Path(r.Env))
	}
	if err != nil {
		return err
	}
	c, err := kubernetes.Open(ctx, r)
	if err != nil {
		return err
	}
	return i.Install(ctx, c)
}
