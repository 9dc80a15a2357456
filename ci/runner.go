package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// runner builds the stage runner, a static binary. It is addressed by its
// sources and its image: unchanged, it is never built twice.
func (m *Slipway) runner(ctx context.Context) (*dagger.File, error) {
	golang, err := m.image(ctx, "GOLANG")
	if err != nil {
		return nil, err
	}
	return golang.
		WithMountedCache("/go/pkg/mod", dag.CacheVolume("slipway-go-mod")).
		WithMountedCache("/root/.cache/go-build", dag.CacheVolume("slipway-go-build")).
		WithEnvVariable("CGO_ENABLED", "0").
		WithDirectory("/src", m.RunnerSource).
		WithWorkdir("/src").
		WithExec([]string{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", "/slipway", "./cmd/slipway"}).
		File("/slipway"), nil
}
