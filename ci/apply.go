package main

import "context"

// Up takes an environment from nothing to running: bootstrap, then apply.
//
// What is done already is not done again.
//
// +cache="never"
func (m *Slipway) Up(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The environment's name once more, where it is protected.
	//
	// +optional
	confirm string,
) (string, error) {
	return m.onEnvironment(ctx, env, "up", "--confirm="+confirm)
}

// Bootstrap makes the store of a state, and refuses one that keeps no lock.
//
// +cache="never"
func (m *Slipway) Bootstrap(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return m.onEnvironment(ctx, env, "bootstrap")
}

// Apply makes the infrastructure what the code says, and shows the outputs.
//
// +cache="never"
func (m *Slipway) Apply(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only this layer.
	//
	// +optional
	layer string,
	// The environment's name once more, where it is protected.
	//
	// +optional
	confirm string,
) (string, error) {
	return m.onEnvironment(ctx, env, "apply", "--layer="+layer, "--confirm="+confirm)
}

// Destroy takes away all that the code made, the last layer first.
//
// +cache="never"
func (m *Slipway) Destroy(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The environment's name once more.
	//
	// +optional
	confirm string,
	// Only this layer.
	//
	// +optional
	layer string,
) (string, error) {
	return m.onEnvironment(ctx, env, "destroy", "--layer="+layer, "--confirm="+confirm)
}
