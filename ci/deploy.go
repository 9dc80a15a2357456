package main

import (
	"context"
	"errors"
	"fmt"

	"dagger/slipway/internal/dagger"
)

// Deploy configures the hosts of an environment with its Ansible playbook.
//
// +cache="never"
func (m *Slipway) Deploy(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Change nothing, and show what would change.
	//
	// +optional
	check bool,
	// Only these hosts and groups, comma-separated.
	//
	// +optional
	limit string,
	// Only the tasks with one of these tags, comma-separated.
	//
	// +optional
	tags string,
	// Commit of the files, for the record.
	//
	// +optional
	commit string,
) (string, error) {
	t, err := m.targetWithAnsible(ctx, env)
	if err != nil {
		return "", err
	}
	return t.report(ctx, "deploy", fmt.Sprintf("--check=%t", check), "--limit="+limit, "--tags="+tags, "--commit="+commit, "--log="+m.Log)
}

// Verify checks the deployed system from outside, as environment.yaml says.
//
// +cache="never"
func (m *Slipway) Verify(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only these checks, comma-separated: https, flow, reboot.
	//
	// +optional
	only string,
	// The environment's name, as confirmation, if it is protected and a host is rebooted.
	//
	// +optional
	confirm string,
) (string, error) {
	t, err := m.targetWithMachine(ctx, env)
	if err != nil {
		return "", err
	}
	return t.report(ctx, "verify", "--only="+only, "--confirm="+confirm)
}

// targetWithAnsible is for the commands that run Ansible too. Only they wait for its image.
func (m *Slipway) targetWithAnsible(ctx context.Context, env string) (*target, error) {
	container, err := m.Ansible(ctx)
	if err != nil {
		return nil, err
	}
	t, err := m.targetIn(ctx, env, container)
	if err != nil {
		return nil, err
	}
	return t, m.bindMachine(ctx, t)
}

// Ansible is the container in which the stages that run Ansible work, for inspection.
//
// +cache="session"
func (m *Slipway) Ansible(ctx context.Context) (*dagger.Container, error) {
	image := m.pinned("ANSIBLE")
	if image == "" {
		return nil, errors.New("the pins file has no ANSIBLE")
	}
	return m.withTools(ctx, withAnsible(image))
}

// withAnsible is Ansible on Python's image.
func withAnsible(image string) *dagger.Container {
	const folder = "/install"
	return dag.Container().From(image).
		WithMountedDirectory(folder, dag.CurrentModule().Source().Directory("ansible")).
		WithExec([]string{folder + "/install"}).
		WithoutMount(folder)
}
