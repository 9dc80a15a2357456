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
	AnsibleImage string
	// +private
	Pins *dagger.File
}

// Toolchain builds the tools' container from the pins.
//
// +cache="session"
func (m *Slipway) Toolchain(ctx context.Context) (*Toolchain, error) {
	debian, err := m.image("DEBIAN")
	if err != nil {
		return nil, err
	}
	container, err := m.withTools(ctx, debian)
	if err != nil {
		return nil, err
	}
	return &Toolchain{Pins: dag.File("pins.env", m.PinsFile), Container: container, AnsibleImage: m.pinned("ANSIBLE")}, nil
}

// withTools adds OpenTofu and the runner to an image.
func (m *Slipway) withTools(ctx context.Context, base *dagger.Container) (*dagger.Container, error) {
	certificates, err := m.certificates()
	if err != nil {
		return nil, err
	}
	opentofu, err := m.image("OPENTOFU")
	if err != nil {
		return nil, err
	}
	runner, err := m.runner(ctx)
	if err != nil {
		return nil, err
	}
	container := base.
		WithFile(certificatesFile, certificates).
		WithFile(programs+"tofu", opentofu.File("/usr/local/bin/tofu")).
		WithFile(programs+"slipway", runner)
	if providers := m.pinned("PROVIDERS"); providers != "" {
		// For a machine that reaches no registry. OpenTofu looks here by default, under the name of
		// its ancestor.
		container = container.WithMountedDirectory("/usr/local/share/terraform/plugins", dag.Container().From(providers).Rootfs())
	}
	return container, nil
}

const certificatesFile = "/etc/ssl/certs/ca-certificates.crt"

// certificates are those of the certificate authorities. Debian's slim image has none, and
// installing them would not be reproducible.
func (m *Slipway) certificates() (*dagger.File, error) {
	if published := m.pinned("RUNNER"); published != "" {
		return dag.Container().From(published).File(certificatesFile), nil // the Go image is much larger
	}
	golang, err := m.image("GOLANG")
	if err != nil {
		return nil, err
	}
	return golang.File(certificatesFile), nil
}

// Versions runs every tool and prints its version beside its pin. It fails if a version is not the
// pinned one.
func (t *Toolchain) Versions(ctx context.Context) (string, error) {
	const runner = programs + "slipway"
	ansible := withAnsible(t.AnsibleImage).WithFile(runner, t.Container.File(runner))
	text := ""
	for _, in := range []struct {
		name      string
		container *dagger.Container
	}{{"tofu", t.Container}, {"ansible", ansible}} {
		versions, err := in.container.
			WithMountedFile("/run/pins.env", t.Pins).
			WithExec([]string{"slipway", "toolchain", "--pins=/run/pins.env", "--container=" + in.name}).
			Stdout(ctx)
		if err != nil {
			return "", err
		}
		text += versions
	}
	return text, nil
}
