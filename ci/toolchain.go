package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Toolchain is the container in which the OpenTofu stages run.
type Toolchain struct {
	// The container itself, for inspection: `dagger call toolchain container terminal`.
	Container *dagger.Container
	// +private
	Pins *dagger.File
}

// Toolchain builds the tools' container from the pins.
func (m *Slipway) Toolchain(ctx context.Context) (*Toolchain, error) {
	debian, err := m.image(ctx, "DEBIAN")
	if err != nil {
		return nil, err
	}
	golang, err := m.image(ctx, "GOLANG")
	if err != nil {
		return nil, err
	}
	opentofu, err := m.image(ctx, "OPENTOFU")
	if err != nil {
		return nil, err
	}
	runner, err := m.runner(ctx)
	if err != nil {
		return nil, err
	}
	providers, err := m.pinned(ctx, "PROVIDERS")
	if err != nil {
		return nil, err
	}
	const certificates = "/etc/ssl/certs/ca-certificates.crt"
	container := debian.
		// Debian's slim image has no certificates, and installing them would not be reproducible.
		WithFile(certificates, golang.File(certificates)).
		WithFile("/usr/local/bin/tofu", opentofu.File("/usr/local/bin/tofu")).
		WithFile("/usr/local/bin/slipway", runner)
	if providers != "" {
		// For a machine that reaches no registry. OpenTofu looks here by default, under the name of
		// its ancestor.
		container = container.WithMountedDirectory("/usr/local/share/terraform/plugins", dag.Container().From(providers).Rootfs())
	}
	return &Toolchain{Pins: m.PinsFile, Container: container}, nil
}

// Versions runs every tool and prints its version beside its pin. It fails if a version is not the
// pinned one.
func (t *Toolchain) Versions(ctx context.Context) (string, error) {
	return t.Container.
		WithMountedFile("/run/pins.env", t.Pins).
		WithExec([]string{"slipway", "toolchain", "--pins", "/run/pins.env"}).
		Stdout(ctx)
}
