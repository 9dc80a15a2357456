package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Up takes an environment from nothing to running: bootstrap, then apply.
//
// What is done already is not done again.
//
// +cache="never"
func (m *Slipway) Up(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	t, err := m.targetWithMachine(ctx, env)
	if err != nil {
		return "", err
	}
	return t.report(ctx, "up")
}

// Bootstrap makes the store of a state, and refuses one that keeps no lock.
//
// +cache="never"
func (m *Slipway) Bootstrap(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return m.call(ctx, env, "bootstrap")
}

// Apply makes the infrastructure what the code says, and shows the outputs.
//
// Without a plan it makes one itself. A protected environment takes only a plan
// that was made before, by `plan --keep` or `plan-files`, and whose digest is named.
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
	// What plan-files left: apply this plan and no other.
	//
	// +optional
	plan *dagger.Directory,
	// Apply the plan that is kept in the state's bucket for exactly these files.
	//
	// +optional
	reviewed bool,
	// Digest of the plan that was reviewed: apply that one and no other.
	//
	// +optional
	digest string,
	// Addresses that a protected environment may lose, with commas between.
	//
	// +optional
	allowDestroy string,
) (string, error) {
	t, err := m.targetWithMachine(ctx, env)
	if err != nil {
		return "", err
	}
	flags := []string{"--layer=" + layer, "--digest=" + digest, "--allow-destroy=" + allowDestroy}
	if plan != nil {
		t.container = t.container.WithMountedDirectory("/plan", plan)
		flags = append(flags, "--plan=/plan")
	}
	if reviewed {
		flags = append(flags, "--reviewed")
	}
	return t.report(ctx, "apply", flags...)
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
	// Addresses that a protected environment may lose, with commas between.
	//
	// +optional
	allowDestroy string,
) (string, error) {
	return m.call(ctx, env, "destroy", "--layer="+layer, "--confirm="+confirm, "--allow-destroy="+allowDestroy)
}

// Down takes away all that the code made, and the plans that are kept of it.
//
// +cache="never"
func (m *Slipway) Down(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The environment's name once more.
	//
	// +optional
	confirm string,
	// Addresses that a protected environment may lose, with commas between.
	//
	// +optional
	allowDestroy string,
) (string, error) {
	return m.call(ctx, env, "down", "--confirm="+confirm, "--allow-destroy="+allowDestroy)
}
