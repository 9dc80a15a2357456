package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// runner is the stage runner. A pins file may name an image that holds it;
// otherwise it is built from its sources.
func (m *Slipway) runner(ctx context.Context) (*dagger.File, error) {
	const path = "/usr/local/bin/slipway"
	pinned, err := m.pinned(ctx, "RUNNER")
	if err != nil {
		return nil, err
	}
	if pinned != "" {
		return dag.Container().From(pinned).File(path), nil
	}
	return m.goProgram(ctx, m.RunnerSource.WithoutDirectory("dev"), "./cmd/slipway")
}

// Runner is the image of the stage runner, to publish.
//
// A pins file that names it as RUNNER spares each fresh engine its build.
func (m *Slipway) Runner(ctx context.Context) (*dagger.Container, error) {
	runner, err := m.runner(ctx)
	if err != nil {
		return nil, err
	}
	return dag.Container().WithFile("/usr/local/bin/slipway", runner), nil
}

// goProgram builds a static binary. It is addressed by its sources and its
// image: unchanged, it is never built twice.
func (m *Slipway) goProgram(ctx context.Context, source *dagger.Directory, pkg string) (*dagger.File, error) {
	golang, err := m.image(ctx, "GOLANG")
	if err != nil {
		return nil, err
	}
	build := golang.
		WithMountedCache("/go/pkg/mod", dag.CacheVolume("slipway-go-mod")).
		WithMountedCache("/root/.cache/go-build", dag.CacheVolume("slipway-go-build")).
		WithEnvVariable("CGO_ENABLED", "0")
	if m.Goproxy != "" {
		build = build.WithEnvVariable("GOPROXY", m.Goproxy)
	}
	return build.
		WithDirectory("/src", source).
		WithWorkdir("/src").
		WithExec([]string{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", "/program", pkg}).
		File("/program"), nil
}
