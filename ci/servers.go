package main

import (
	"context"
	"crypto/rand"

	"dagger/slipway/internal/dagger"
)

// Status shows the servers and databases of an environment, and whether they are running.
//
// +cache="never"
func (m *Slipway) Status(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return m.call(ctx, env, "status")
}

// Start starts the servers of an environment.
//
// +cache="never"
func (m *Slipway) Start(
	ctx context.Context,
	// Folder below environments/.
	env string,
) (string, error) {
	return m.call(ctx, env, "start")
}

// Stop shuts down the servers of an environment.
//
// Nothing on them is lost, and an apply starts them again. A managed database cannot be stopped and
// keeps running.
//
// +cache="never"
func (m *Slipway) Stop(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// The environment's name, as confirmation, if it is protected.
	//
	// +optional
	confirm string,
) (string, error) {
	return m.call(ctx, env, "stop", "--confirm="+confirm)
}

// Ssh opens a shell on a host of an environment, after checking its host key.
//
// +cache="never"
func (m *Slipway) Ssh(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Name of the host, if there are several.
	//
	// +optional
	host string,
) error {
	t, err := m.targetWithMachine(ctx, env)
	if err != nil {
		return err
	}
	_, err = t.container.Terminal(dagger.ContainerTerminalOpts{Cmd: []string{"slipway", "ssh", "--env=" + env, "--host=" + host, "--run-id=" + rand.Text()}}).Sync(ctx)
	return err
}
