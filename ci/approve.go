package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Approve signs the plan stored for exactly these files, or an exported one.
//
// If environment.yaml lists reviewers, an apply requires the signature of one of them.
//
// +cache="never"
func (m *Slipway) Approve(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Digest of the plan, as shown by `plan`.
	digest string,
	// Private SSH key of a reviewer, such as file://~/.ssh/id_ed25519.
	//
	// +optional
	key *dagger.Secret,
	// Signature made with `ssh-keygen -Y sign -n slipway-plan`, instead of a key.
	//
	// +optional
	signature *dagger.File,
	// Results of plan-files, instead of the stored plan.
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
