package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Up takes an environment from nothing to running: bootstrap, then apply.
//
// It skips what is already done.
//
// +cache="never"
func (m *Slipway) Up(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	container, err := m.stage(ctx, env)
	if err != nil {
		return "", err
	}
	if container, err = m.withMachine(ctx, env, container); err != nil {
		return "", err
	}
	_, report, err := m.effect(ctx, env, container, "up")
	return report, err
}

// Bootstrap creates the store of a state, and refuses a store without working locks.
//
// +cache="never"
func (m *Slipway) Bootstrap(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return m.onEnvironment(ctx, env, "bootstrap")
}

// Apply makes the infrastructure match the code, and shows the outputs.
//
// Without a plan it makes one itself. A protected environment only accepts a plan that was made
// beforehand with `plan --keep` or `plan-files`, together with its digest.
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
	// Results of plan-files: apply this plan and no other.
	//
	// +optional
	plan *dagger.Directory,
	// Apply the plan stored in the state's bucket for exactly these files.
	//
	// +optional
	reviewed bool,
	// Digest of the reviewed plan: apply only that plan.
	//
	// +optional
	digest string,
	// Comma-separated addresses that a protected environment may lose.
	//
	// +optional
	allowDestroy string,
) (string, error) {
	container, err := m.stage(ctx, env)
	if err != nil {
		return "", err
	}
	if container, err = m.withMachine(ctx, env, container); err != nil {
		return "", err
	}
	args := []string{"apply", "--layer=" + layer, "--digest=" + digest, "--allow-destroy=" + allowDestroy}
	if plan != nil {
		container = container.WithMountedDirectory("/plan", plan)
		args = append(args, "--plan=/plan")
	}
	if reviewed {
		args = append(args, "--reviewed")
	}
	_, report, err := m.effect(ctx, env, container, args...)
	return report, err
}

// Destroy deletes everything that the code created, the last layer first.
//
// +cache="never"
func (m *Slipway) Destroy(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The environment's name, as confirmation.
	//
	// +optional
	confirm string,
	// Only this layer.
	//
	// +optional
	layer string,
	// Comma-separated addresses that a protected environment may lose.
	//
	// +optional
	allowDestroy string,
) (string, error) {
	return m.onEnvironment(ctx, env, "destroy", "--layer="+layer, "--confirm="+confirm, "--allow-destroy="+allowDestroy)
}

// Down deletes everything that the code created, and its stored plans.
//
// +cache="never"
func (m *Slipway) Down(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The environment's name, as confirmation.
	//
	// +optional
	confirm string,
	// Comma-separated addresses that a protected environment may lose.
	//
	// +optional
	allowDestroy string,
) (string, error) {
	return m.onEnvironment(ctx, env, "down", "--confirm="+confirm, "--allow-destroy="+allowDestroy)
}
