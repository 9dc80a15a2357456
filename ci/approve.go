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
