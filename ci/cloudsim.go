package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Cloudsim is the simulated cloud that environment local runs on.
//
// `dagger call cloudsim up` serves it on port 9000, to look at. Its data outlives
// the call; a second call at the same time waits until the first has ended.
func (m *Slipway) Cloudsim(ctx context.Context) (*dagger.Service, error) {
	program, err := m.cloudsimProgram(ctx)
	if err != nil {
		return nil, err
	}
	debian, err := m.image(ctx, "DEBIAN")
	if err != nil {
		return nil, err
	}
	return debian.
		WithFile(programs+"cloudsim", program).
		WithMountedCache("/data", dag.CacheVolume(m.LocalData)).
		WithExposedPort(9000).
		AsService(dagger.ContainerAsServiceOpts{Args: []string{"cloudsim", "--data=/data"}}), nil
}

func (m *Slipway) cloudsimProgram(ctx context.Context) (*dagger.File, error) {
	return m.program(ctx, "cloudsim", m.RunnerSource.WithoutDirectory("cmd").WithoutDirectory("internal"), "./dev/cloudsim")
}
