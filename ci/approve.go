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
	t, err := m.target(ctx, env)
	if err != nil {
		return "", err
	}
	if key != nil {
		t.container = t.container.WithMountedSecret("/run/secrets/signing-key", key)
	}
	if signature != nil {
		t.container = t.container.WithMountedFile("/run/signature", signature)
	}
	flags := []string{"--digest=" + digest, "--layer=" + layer}
	if plan != nil {
		t.container = t.container.WithMountedDirectory("/plan", plan)
		flags = append(flags, "--plan=/plan")
	}
	return t.report(ctx, "approve", flags...)
}
