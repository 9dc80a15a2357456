package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// LockProviders writes .terraform.lock.hcl: the providers' checksums, for Linux and macOS.
//
// It queries the providers' registries and needs no credentials. `-y` writes the files into the
// checkout. From then on, any other build of a provider is refused.
//
// +cache="never"
func (m *Slipway) LockProviders(
	ctx context.Context,
	// Folder below environments/. Default: all of them.
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
