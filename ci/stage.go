package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"dagger/slipway/internal/dagger"
)

// stage returns the container of a stage: the tools, the repository, a tmpfs to work in, and the
// key.
func (m *Slipway) stage(ctx context.Context, env string) (*dagger.Container, error) {
	toolchain, err := m.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	container := toolchain.Container.
		WithMountedDirectory("/repo", m.Source).
		WithMountedFile("/run/pins.env", m.PinsFile).
		WithMountedTemp("/work")
	if m.AgeKey != nil {
		container = container.WithMountedSecret("/run/secrets/age-identity", m.AgeKey)
	}
	if env == "local" {
		cloudsim, err := m.Cloudsim(ctx)
		if err != nil {
			return nil, err
		}
		container = container.WithServiceBinding("cloudsim", cloudsim)
	}
	return container, nil
}

// result is the part of /out/result.json that matters here.
type result struct {
	ExitCode int    `json:"exit_code"`
	Error    string `json:"error"`
	Hint     string `json:"hint"`
}

// effect runs a stage that must really run each time it is called: a new name each time keeps the
// engine from using a cached layer of an earlier call.
func (m *Slipway) effect(ctx context.Context, env string, container *dagger.Container, args ...string) (*dagger.Container, string, error) {
	return finish(ctx, container, append(args, "--env="+env, "--run-id="+rand.Text()))
}

// finish runs the stage and returns its report. The runner's result says how it ended, so a killed
// run never counts as done.
//
// Everything is read from the container's files. The engine stores the exit code and the output
// separately: when it needs space, it may delete one before the other was read, and would run the
// stage again.
func finish(ctx context.Context, container *dagger.Container, args []string) (*dagger.Container, string, error) {
	const reportFile = "/run/report"
	done := container.WithExec(append([]string{"slipway"}, args...), dagger.ContainerWithExecOpts{Expect: dagger.ReturnTypeAny, RedirectStdout: reportFile})
	text, err := done.File("/out/result.json").Contents(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("%s ended without a result: %w", args[0], err)
	}
	var r result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, "", fmt.Errorf("read the result of %s: %w", args[0], err)
	}
	report, err := done.File(reportFile).Contents(ctx)
	if err != nil {
		return nil, "", err
	}
	const changes = 2
	if r.ExitCode != 0 && r.ExitCode != changes {
		message := report + r.Error
		if r.Hint != "" {
			message += "\nhint: " + r.Hint
		}
		return done, "", errors.New(message)
	}
	return done, report, nil
}
