package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// cloudsim is the simulated cloud of environment local. Its data outlives the
// call; a second call at the same time waits until the first has ended.
func (m *Slipway) cloudsim(ctx context.Context) (*dagger.Service, error) {
	program, err := m.goProgram(ctx, m.RunnerSource.Directory("dev/cloudsim"), ".")
	if err != nil {
		return nil, err
	}
	debian, err := m.image(ctx, "DEBIAN")
	if err != nil {
		return nil, err
	}
	return debian.
		WithFile("/usr/local/bin/cloudsim", program).
		WithMountedCache("/data", dag.CacheVolume("slipway-local")).
		WithExposedPort(9000).
		AsService(dagger.ContainerAsServiceOpts{Args: []string{"cloudsim", "--data=/data"}}), nil
}
