package main

import (
	"context"
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

// toGitHub runs a stage that writes to GitHub. Its container has no other secret
// than the token.
func (m *Slipway) toGitHub(ctx context.Context, command string, results *dagger.Directory, envs []string, github *dagger.Directory, token *dagger.Secret, dryRun bool) (string, error) {
	toolchain, err := m.Toolchain(ctx)
	if err != nil {
		return "", err
	}
	t := &target{container: toolchain.Container.WithMountedDirectory("/results", results)}
	if github != nil {
		t.container = t.container.WithMountedDirectory("/github", github)
		if err := m.bindGitHub(ctx, t, github); err != nil {
			return "", err
		}
	}
	if token != nil {
		t.container = t.container.WithMountedSecret("/run/secrets/github-token", token)
	}
	flags := []string{"--envs=" + strings.Join(envs, ",")}
	if dryRun {
		flags = append(flags, "--dry-run")
	}
	return t.report(ctx, command, flags...)
}

// bindGitHub lets a job that was told so reach the GitHub that is part of the simulated cloud.
func (m *Slipway) bindGitHub(ctx context.Context, t *target, github *dagger.Directory) error {
	variables, err := github.File("env").Contents(ctx)
	if err != nil || !strings.Contains(variables, "GITHUB_API_URL=http://cloudsim:") {
		return err
	}
	cloudsim, err := m.Cloudsim(ctx)
	if err != nil {
		return err
	}
	t.container = t.container.WithServiceBinding("cloudsim", cloudsim)
	return nil
}
