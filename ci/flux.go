package main

import "context"

// Flux is Flux in the cluster of an environment.
type Flux struct {
	// +private
	Slipway *Slipway
}

// Flux works on Flux in the cluster of an environment.
func (m *Slipway) Flux() *Flux { return &Flux{m} }

// Install installs Flux as environments/<env>/flux.yaml describes it, and waits until it has reconciled.
//
// +cache="never"
func (f *Flux) Install(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return f.Slipway.call(ctx, env, "flux-install")
}

// Status shows the objects of Flux: what is not ready comes first, with its reason.
//
// +cache="never"
func (f *Flux) Status(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return f.Slipway.call(ctx, env, "flux-status")
}
