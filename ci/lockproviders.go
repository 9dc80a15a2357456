package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// LockProviders writes .terraform.lock.hcl: the providers' checksums, for Linux and macOS.
//
// It asks their registries, and needs no credentials. `-y` writes the files into the
// checkout. From then on every other build of a provider is refused.
//
// +cache="never"
func (m *Slipway) LockProviders(
	ctx context.Context,
	// Folder below environments/; all without it.
	//
	// +optional
	env string,
) (*dagger.Changeset, error) {
	t, err := m.targetWithoutKey(ctx)
	if err != nil {
		return nil, err
	}
	return t.changes(ctx, "lock-providers", "--env="+env)
}
