package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Approve signs the plan that is kept for exactly these files, or one that was exported.
//
// Where environment.yaml names reviewers, an apply asks for the signature of one.
//
// +cache="never"
func (m *Slipway) Approve(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Digest of the plan, as `plan` shows it.
	digest string,
	// Private SSH key of a reviewer, such as file://~/.ssh/id_ed25519.
	//
	// +optional
	key *dagger.Secret,
	// Signature that `ssh-keygen -Y sign -n slipway-plan` made, instead of a key.
	//
	// +optional
	signature *dagger.File,
	// What plan-files left, instead of the plan that is kept.
	//
	// +optional
	plan *dagger.Directory,
	// Only this layer.
	//
	// +optional
	layer string,
) (string, error) {
	container, err := m.stage(ctx, env)
	if err != nil {
		return "", err
	}
	if key != nil {
		container = container.WithMountedSecret("/run/secrets/signing-key", key)
	}
	if signature != nil {
		container = container.WithMountedFile("/run/signature", signature)
	}
	args := []string{"approve", "--digest=" + digest, "--layer=" + layer}
	if plan != nil {
		container = container.WithMountedDirectory("/plan", plan)
		args = append(args, "--plan=/plan")
	}
	_, report, err := m.effect(ctx, env, container, args...)
	return report, err
}
