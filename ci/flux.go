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

// Reconcile has an object reconciled now, after its source, and waits until it is ready.
//
// +cache="never"
func (f *Flux) Reconcile(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The object as KIND/NAMESPACE/NAME, such as Kustomization/flux-system/apps.
	object string,
) (string, error) {
	return f.Slipway.call(ctx, env, "flux-reconcile", "--object="+object)
}

// Suspend stops the reconciliation of an object, until it is resumed.
//
// +cache="never"
func (f *Flux) Suspend(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The object as KIND/NAMESPACE/NAME, such as Kustomization/flux-system/apps.
	object string,
) (string, error) {
	return f.Slipway.call(ctx, env, "flux-suspend", "--object="+object)
}

// Resume goes on with the reconciliation of an object, and waits until it is ready.
//
// +cache="never"
func (f *Flux) Resume(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The object as KIND/NAMESPACE/NAME, such as Kustomization/flux-system/apps.
	object string,
) (string, error) {
	return f.Slipway.call(ctx, env, "flux-resume", "--object="+object)
}
