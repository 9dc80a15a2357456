package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Up takes an environment from nothing to running: layers, cluster, deploy, Flux and checks.
//
// It skips what is already done, and ends with a table of the stages.
//
// +cache="never"
func (m *Slipway) Up(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	t, err := m.targetWithAnsible(ctx, env)
	if err != nil {
		return "", err
	}
	return t.report(ctx, "up")
}

// Bootstrap creates the store of a state, and refuses a store without working locks.
//
// +cache="never"
func (m *Slipway) Bootstrap(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return m.call(ctx, env, "bootstrap")
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
	// Change control planes of the cluster although etcd has no leader, as most of them are down.
	//
	// +optional
	quorumLost bool,
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
	if quorumLost {
		flags = append(flags, "--quorum-lost")
	}
	return t.report(ctx, "apply", flags...)
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
	return m.call(ctx, env, "destroy", "--layer="+layer, "--confirm="+confirm, "--allow-destroy="+allowDestroy)
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
	return m.call(ctx, env, "down", "--confirm="+confirm, "--allow-destroy="+allowDestroy)
}
