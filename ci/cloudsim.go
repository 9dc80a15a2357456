package main

import (
	"context"
	"fmt"

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
		AsService(dagger.ContainerAsServiceOpts{Args: []string{"cloudsim", "--data=/data", "--dns=:53"}}), nil
}

// simulated is the environment that runs on the simulated cloud. Environment besideEngine has only its state there.
const (
	simulated    = "local"
	besideEngine = "cluster-local"
)

// bindCloud lets a command on these environments reach the cloud.
func (m *Slipway) bindCloud(ctx context.Context, t *target) error {
	if t.env != simulated && t.env != besideEngine {
		return nil
	}
	cloudsim, err := m.Cloudsim(ctx)
	if err != nil {
		return err
	}
	t.container = t.container.WithServiceBinding("cloudsim", cloudsim)
	return nil
}

// targetWithMachine is target, and in the simulated environment it reaches the server too.
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
	machine, err := m.machine(ctx)
	if err != nil {
		return err
	}
	t.container = t.container.WithServiceBinding("machine", machine)
	return nil
}

// Open serves the ports of environment local's server, as long as it is called.
//
// `dagger call open --env=local up --ports=8443:443` has port 8443 of your machine lead to the server's port 443. Other
// calls on the environment wait until it has ended.
//
// +cache="session"
func (m *Slipway) Open(
	ctx context.Context,
	// Folder below environments/: only local has a server that nobody else reaches.
	env string,
) (*dagger.Service, error) {
	if env != simulated {
		return nil, fmt.Errorf("the servers of environment %s are not simulated: they have public addresses\n"+
			"hint: dagger call output --env=%[1]s", env)
	}
	return m.machine(ctx)
}

// machine is a container with a systemd of its own, which plays the oldest server there is. It
// brings with it the managed services that the server uses.
func (m *Slipway) machine(ctx context.Context) (*dagger.Service, error) {
	services, err := m.player(ctx, "services", "iptables", "pebble", "postgresql-17", "postgresql-17-timescaledb")
	if err != nil {
		return nil, err
	}
	machine, err := m.player(ctx, "machine",
		"cloud-init", "dbus", "docker-compose", "docker.io", "iproute2", "iptables", "kmod", "nftables", "openssh-server", "procps", "python3", "sudo", "systemd", "systemd-sysv")
	if err != nil {
		return nil, err
	}
	return asPlayer(machine.WithServiceBinding("services", asPlayer(services, "services")), "machine"), nil
}

// player is the container of a program of cloudsim that plays a part of the cloud, with the Debian
// packages that it needs.
func (m *Slipway) player(ctx context.Context, part string, packages ...string) (*dagger.Container, error) {
	cloudsim, err := m.Cloudsim(ctx)
	if err != nil {
		return nil, err
	}
	program, err := m.cloudsimProgram(ctx)
	if err != nil {
		return nil, err
	}
	debian, err := m.image("DEBIAN")
	if err != nil {
		return nil, err
	}
	return debian.
		WithEnvVariable("DEBIAN_FRONTEND", "noninteractive").
		WithExec([]string{"apt-get", "update", "-qq"}).
		WithExec(append([]string{"apt-get", "install", "-y", "-qq", "--no-install-recommends"}, packages...)).
		WithFile(programs+"cloudsim", program).
		WithMountedCache("/"+part, dag.CacheVolume(m.LocalData+"-"+part)).
		WithServiceBinding("cloudsim", cloudsim).
		WithExposedPort(9001), nil
}

// asPlayer starts the player: it mounts, and changes its own network.
func asPlayer(container *dagger.Container, part string) *dagger.Service {
	return container.AsService(dagger.ContainerAsServiceOpts{Args: []string{"cloudsim", part, "--name=one"}, InsecureRootCapabilities: true})
}

func (m *Slipway) cloudsimProgram(ctx context.Context) (*dagger.File, error) {
	return m.program(ctx, "cloudsim", "./dev/cloudsim", "dev/cloudsim")
}
