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
	repository, err := m.repository(ctx)
	if err != nil {
		return nil, err
	}
	toolchain, err := m.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	container := toolchain.Container.
		WithMountedDirectory("/repo", repository).
		WithMountedFile("/run/pins.env", m.PinsFile).
		WithMountedTemp("/work").
		// There may be nothing to write.
		WithDirectory("/out/changed", dag.Directory())
	done, _, err := m.effect(ctx, env, container, "lock-providers")
	if err != nil {
		return nil, err
	}
	return repository.WithDirectory(".", done.Directory("/out/changed")).Changes(repository), nil
}
