package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Cloudsim is the simulated cloud that environment local runs on.
//
// `dagger call cloudsim up` serves it on port 9000 for inspection. Its data survives the call; a
// second call at the same time waits until the first has ended.
//
// +cache="session"
func (m *Slipway) Cloudsim(ctx context.Context) (*dagger.Service, error) {
	program, err := m.cloudsimProgram(ctx)
	if err != nil {
		return nil, err
	}
	debian, err := m.image("DEBIAN")
	if err != nil {
		return nil, err
	}
	return debian.
		WithFile(programs+"cloudsim", program).
		WithMountedCache("/data", dag.CacheVolume(m.LocalData)).
		WithExposedPort(9000).
		AsService(dagger.ContainerAsServiceOpts{Args: []string{"cloudsim", "--data=/data"}}), nil
}

// simulated is the environment that runs on the simulated cloud.
const simulated = "local"

// bindCloud lets a command on the simulated environment reach its cloud.
func (m *Slipway) bindCloud(ctx context.Context, t *target) error {
	if t.env != simulated {
		return nil
	}
	cloudsim, err := m.Cloudsim(ctx)
	if err != nil {
		return err
	}
	t.container = t.container.WithServiceBinding("cloudsim", cloudsim)
	return nil
}

// targetWithMachine is target, and in the simulated environment it reaches the server too: a
// container with a systemd of its own, which plays the oldest server there is.
func (m *Slipway) targetWithMachine(ctx context.Context, env string) (*target, error) {
	t, err := m.target(ctx, env)
	if err != nil {
		return nil, err
	}
	return t, m.bindMachine(ctx, t)
}

// bindMachine lets a command on the simulated environment reach its server.
func (m *Slipway) bindMachine(ctx context.Context, t *target) error {
	if t.env != simulated {
		return nil
	}
	cloudsim, err := m.Cloudsim(ctx)
	if err != nil {
		return err
	}
	program, err := m.cloudsimProgram(ctx)
	if err != nil {
		return err
	}
	debian, err := m.image("DEBIAN")
	if err != nil {
		return err
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
	t.container = t.container.WithServiceBinding("machine", machine)
	return nil
}

func (m *Slipway) cloudsimProgram(ctx context.Context) (*dagger.File, error) {
	return m.program(ctx, "cloudsim", "./dev/cloudsim", "dev/cloudsim")
}
