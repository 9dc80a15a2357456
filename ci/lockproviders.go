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
	toolchain, err := m.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	container := toolchain.Container.
		WithMountedDirectory("/repo", m.Source).
		WithMountedFile("/run/pins.env", m.PinsFile).
		WithMountedTemp("/work").
		// There may be nothing to write.
		WithDirectory("/out/changed", dag.Directory())
	done, _, err := m.effect(ctx, env, container, "lock-providers")
	if err != nil {
		return nil, err
	}
	return m.Source.WithDirectory(".", done.Directory("/out/changed")).Changes(m.Source), nil
}
