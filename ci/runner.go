package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// runner is the stage runner.
func (m *Slipway) runner(ctx context.Context) (*dagger.File, error) {
	return m.program(ctx, "slipway", m.RunnerSource.WithoutDirectory("dev"), "./cmd/slipway")
}

// Runner is the image of the stage runner and of the simulated cloud, for publishing.
//
// With a pins file that names it as RUNNER, a new engine need not build them.
func (m *Slipway) Runner(ctx context.Context) (*dagger.Container, error) {
	runner, err := m.runner(ctx)
	if err != nil {
		return nil, err
	}
	cloudsim, err := m.cloudsimProgram(ctx)
	if err != nil {
		return nil, err
	}
	return dag.Container().WithFile(programs+"slipway", runner).WithFile(programs+"cloudsim", cloudsim), nil
}

// programs is the folder of our own programs in every image.
const programs = "/usr/local/bin/"

// program is one of our own programs, from the image in the pins file, or built from its sources.
func (m *Slipway) program(ctx context.Context, name string, source *dagger.Directory, pkg string) (*dagger.File, error) {
	pinned, err := m.pinned(ctx, "RUNNER")
	if err != nil {
		return nil, err
	}
	if pinned != "" {
		return dag.Container().From(pinned).File(programs + name), nil
	}
	golang, err := m.golang(ctx)
	if err != nil {
		return nil, err
	}
	// Cached by its sources and its image: if these are unchanged, it is not built again.
	return golang.
		WithDirectory("/src", source).
		WithWorkdir("/src").
		WithExec([]string{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", "/program", pkg}).
		File("/program"), nil
}

// golang is the Go toolchain with the caches that all builds share.
func (m *Slipway) golang(ctx context.Context) (*dagger.Container, error) {
	golang, err := m.image(ctx, "GOLANG")
	if err != nil {
		return nil, err
	}
	golang = golang.
		WithMountedCache("/go/pkg/mod", dag.CacheVolume("slipway-go-mod")).
		WithMountedCache("/root/.cache/go-build", dag.CacheVolume("slipway-go-build")).
		WithEnvVariable("CGO_ENABLED", "0")
	if m.Goproxy != "" {
		golang = golang.WithEnvVariable("GOPROXY", m.Goproxy)
	}
	return golang, nil
}
