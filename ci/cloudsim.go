package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Cloudsim is the simulated cloud that environment local runs on.
//
// `dagger call cloudsim up` serves it on port 9000 for inspection. Its data survives the call; a
// second call at the same time waits until the first has ended.
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

// withMachine lets a stage of environment local reach the server of the simulated cloud: a
// container with its own systemd, which plays the oldest server.
func (m *Slipway) withMachine(ctx context.Context, env string, container *dagger.Container) (*dagger.Container, error) {
	if env != "local" {
		return container, nil
	}
	cloudsim, err := m.Cloudsim(ctx)
	if err != nil {
		return nil, err
	}
	program, err := m.cloudsimProgram(ctx)
	if err != nil {
		return nil, err
	}
	debian, err := m.image(ctx, "DEBIAN")
	if err != nil {
		return nil, err
	}
	packages := []string{"cloud-init", "dbus", "docker.io", "iproute2", "iptables", "kmod", "openssh-server", "procps", "python3", "sudo", "systemd", "systemd-sysv"}
	machine := debian.
		WithEnvVariable("DEBIAN_FRONTEND", "noninteractive").
		WithExec([]string{"apt-get", "update", "-qq"}).
		WithExec(append([]string{"apt-get", "install", "-y", "-qq", "--no-install-recommends"}, packages...)).
		WithFile(programs+"cloudsim", program).
		WithMountedCache("/machine", dag.CacheVolume(m.LocalData+"-machine")).
		WithServiceBinding("cloudsim", cloudsim).
		WithExposedPort(9001).
		AsService(dagger.ContainerAsServiceOpts{Args: []string{"cloudsim", "machine", "--name=one"}, InsecureRootCapabilities: true})
	return container.WithServiceBinding("machine", machine), nil
}

func (m *Slipway) cloudsimProgram(ctx context.Context) (*dagger.File, error) {
	return m.program(ctx, "cloudsim", m.RunnerSource.WithoutDirectory("cmd").WithoutDirectory("internal"), "./dev/cloudsim")
}
