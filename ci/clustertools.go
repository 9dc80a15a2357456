package main

import (
	"context"
	"errors"

	"dagger/slipway/internal/dagger"
)

// Kubectl runs kubectl on the cluster: `--args=get,nodes,-o,wide`.
//
// Its output is masked. What changes something takes the lock of the nodes.
//
// +cache="never"
func (c *Cluster) Kubectl(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Its arguments, comma-separated; can be repeated.
	args []string,
) (string, error) {
	return c.runTool(ctx, env, "cluster-kubectl", args)
}

// Talosctl runs talosctl on the cluster's nodes: `--args=-n,cp-1,dmesg`.
//
// Its output is masked. What changes something takes the lock of the nodes.
//
// +cache="never"
func (c *Cluster) Talosctl(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Its arguments, comma-separated; can be repeated. Nodes can be given by name.
	args []string,
) (string, error) {
	return c.runTool(ctx, env, "cluster-talosctl", args)
}

// Helm runs helm on the cluster: `--args=list,-A`.
//
// Its output is masked. What changes something takes the lock of the nodes.
//
// +cache="never"
func (c *Cluster) Helm(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Its arguments, comma-separated; can be repeated.
	args []string,
) (string, error) {
	return c.runTool(ctx, env, "cluster-helm", args)
}

// runTool runs a command that runs a tool with these arguments.
func (c *Cluster) runTool(ctx context.Context, env, command string, args []string) (string, error) {
	container, err := c.Tools(ctx)
	if err != nil {
		return "", err
	}
	t, err := c.Slipway.targetIn(ctx, env, container)
	if err != nil {
		return "", err
	}
	t.args = args
	return t.report(ctx, command)
}

// Tools is the container in which kubectl, talosctl and helm run, for inspection.
//
// It has OpenTofu, too: the layers may list the nodes, or the bastion before them.
//
// +cache="session"
func (c *Cluster) Tools(ctx context.Context) (*dagger.Container, error) {
	m := c.Slipway
	kubectl, helm := m.pinned("KUBECTL"), m.pinned("HELM")
	if kubectl == "" || helm == "" {
		return nil, errors.New("the pins file has no KUBECTL or no HELM\nhint: make cluster   # if make engine wrote it; otherwise copy the lines from ci/pins.env")
	}
	talosctl, err := m.talosctl()
	if err != nil {
		return nil, err
	}
	toolchain, err := m.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	return toolchain.Container.
		WithFile(programs+"kubectl", dag.Container().From(kubectl).File("/bin/kubectl")).
		WithFile(programs+"helm", dag.Container().From(helm).File("/usr/bin/helm")).
		WithFile(programs+"talosctl", talosctl), nil
}

// talosctl is the program of the pinned image, or built from the source of v1.14.1.
//
// The digest of that image, ghcr.io/siderolabs/talosctl:v1.14.1, is not known yet: the registry could not be reached
// when this was written. Nor could the repository, so nobody has tried the build. A commit pins its content as well.
func (m *Slipway) talosctl() (*dagger.File, error) {
	if image := m.pinned("TALOSCTL"); image != "" {
		return dag.Container().From(image).File("/talosctl"), nil
	}
	golang, err := m.golang()
	if err != nil {
		return nil, err
	}
	const commit = "2f86b9d2a29b413deddd7122a8420b8913813615" // v1.14.1
	return golang.
		WithDirectory("/src", dag.Git("https://github.com/siderolabs/talos").Commit(commit).Tree()).
		WithWorkdir("/src").
		WithEnvVariable("GOWORK", "off"). // it is for Talos' own developers
		WithExec([]string{"go", "build", "-trimpath", "-buildvcs=false", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", "/program", "./cmd/talosctl"}).
		File("/program"), nil
}
