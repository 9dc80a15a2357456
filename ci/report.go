package main

import (
	"context"
	"crypto/rand"
	"strings"

	"dagger/slipway/internal/dagger"
)

// Report shows the plans of all environments in one comment on the pull request.
//
// The comment is edited in place, and left alone if nothing has changed. The text is also printed.
//
// +cache="never"
func (m *Slipway) Report(
	ctx context.Context,
	// Folder with one folder per environment: exports of plan-files.
	plans *dagger.Directory,
	// Environments that must have results. A missing one is shown as failed.
	//
	// +optional
	envs []string,
	// Folder with env, the GITHUB_ variables of the job, and event.json: see docs/github.md.
	//
	// +optional
	github *dagger.Directory,
	// Token that may comment on pull requests.
	//
	// +optional
	token *dagger.Secret,
	// Print what would be written, without writing it.
	//
	// +optional
	dryRun bool,
) (string, error) {
	return m.toGitHub(ctx, "report", plans, envs, github, token, dryRun)
}

// toGitHub runs a stage that writes to GitHub. The token is the only secret in its container.
func (m *Slipway) toGitHub(ctx context.Context, stage string, results *dagger.Directory, envs []string, github *dagger.Directory, token *dagger.Secret, dryRun bool) (string, error) {
	toolchain, err := m.Toolchain(ctx)
	if err != nil {
		return "", err
	}
	container := toolchain.Container.WithMountedDirectory("/results", results)
	if github != nil {
		container = container.WithMountedDirectory("/github", github)
		if container, err = m.withSimulatedGitHub(ctx, container, github); err != nil {
			return "", err
		}
	}
	if token != nil {
		container = container.WithMountedSecret("/run/secrets/github-token", token)
	}
	args := []string{stage, "--envs=" + strings.Join(envs, ","), "--run-id=" + rand.Text()}
	if dryRun {
		args = append(args, "--dry-run")
	}
	_, report, err := finish(ctx, container, args)
	return report, err
}

// withSimulatedGitHub connects a job that asks for it to the GitHub that is part of the simulated
// cloud.
func (m *Slipway) withSimulatedGitHub(ctx context.Context, container *dagger.Container, github *dagger.Directory) (*dagger.Container, error) {
	variables, err := github.File("env").Contents(ctx)
	if err != nil || !strings.Contains(variables, "GITHUB_API_URL=http://cloudsim:") {
		return container, err
	}
	cloudsim, err := m.Cloudsim(ctx)
	if err != nil {
		return nil, err
	}
	return container.WithServiceBinding("cloudsim", cloudsim), nil
}
