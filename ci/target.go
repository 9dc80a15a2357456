package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"dagger/slipway/internal/dagger"
)

// A target is what a command of the runner works on: an environment, or none, and the container
// with the tools and the repository.
type target struct {
	env        string // empty: none
	deadline   string
	args       []string // of a tool that the command runs
	repository *dagger.Directory
	container  *dagger.Container
}

// target is for the commands on an environment. Its container has the age identity.
func (m *Slipway) target(ctx context.Context, env string) (*target, error) {
	toolchain, err := m.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	return m.targetIn(ctx, env, toolchain.Container)
}

// targetIn is target in another container.
func (m *Slipway) targetIn(ctx context.Context, env string, container *dagger.Container) (*target, error) {
	t, err := m.mounted(container)
	if err != nil {
		return nil, err
	}
	t.env = env
	if m.AgeKey != nil {
		t.container = t.container.WithMountedSecret("/run/secrets/age-identity", m.AgeKey)
	}
	return t, m.bindCloud(ctx, t)
}

// targetWithoutKey is for the commands that need no secret.
func (m *Slipway) targetWithoutKey(ctx context.Context) (*target, error) {
	toolchain, err := m.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	return m.mounted(toolchain.Container)
}

// mounted adds the repository, the pins and a work folder to a container with tools.
func (m *Slipway) mounted(container *dagger.Container) (*target, error) {
	repository, err := m.repository()
	if err != nil {
		return nil, err
	}
	return &target{repository: repository, deadline: m.Deadline, container: container.
		WithMountedDirectory("/repo", repository).
		WithMountedFile("/run/pins.env", dag.File("pins.env", m.PinsFile)).
		WithMountedTemp("/work")}, nil
}

// An outcome is how a command ended.
type outcome struct {
	report string
	out    *dagger.Directory // its results
}

// runUncached runs a command that must really run each time it is called. The name of the run is
// new each time, so that the engine does not take an earlier call for it.
func (t *target) runUncached(ctx context.Context, command string, flags ...string) (*outcome, error) {
	if t.env != "" {
		flags = append(flags, "--env="+t.env)
	}
	if t.deadline != "" {
		flags = append(flags, "--deadline="+t.deadline)
	}
	return t.run(ctx, command, append(flags, "--run-id="+rand.Text())...)
}

// run runs a command. The engine caches it by what it reads. A command that failed has an outcome
// beside the error, if it left a result.
//
// How the command ended is read from that result, so one that was killed never counts as done.
// Everything is read from files. The engine keeps the exit code and the output apart from these:
// when it needs room it may delete one before the other was read, and would run the command again.
func (t *target) run(ctx context.Context, command string, flags ...string) (*outcome, error) {
	if t.args != nil {
		flags = append(append(flags, "--"), t.args...)
	}
	const reportFile = "/run/report"
	done := t.container.WithExec(append([]string{"slipway", command}, flags...), dagger.ContainerWithExecOpts{Expect: dagger.ReturnTypeAny, RedirectStdout: reportFile})
	text, err := done.File("/out/result.json").Contents(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s ended without a result: %w", command, err)
	}
	var result struct {
		ExitCode int    `json:"exit_code"`
		Error    string `json:"error"`
		Hint     string `json:"hint"`
	}
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		return nil, fmt.Errorf("read the result of %s: %w", command, err)
	}
	report, err := done.File(reportFile).Contents(ctx)
	if err != nil {
		return nil, err
	}
	o := &outcome{report: report, out: done.Directory("/out")}
	const changes = 2 // what is half done has another code
	if result.ExitCode == 0 || result.ExitCode == changes {
		return o, nil
	}
	message := report + result.Error
	if result.Hint != "" {
		message += "\nhint: " + result.Hint
	}
	return o, errors.New(message)
}

// changes runs a command that leaves new versions of files of the repository.
func (t *target) changes(ctx context.Context, command string, flags ...string) (*dagger.Changeset, error) {
	t.container = t.container.WithDirectory("/out/changed", dag.Directory()) // there may be nothing to change
	o, err := t.runUncached(ctx, command, flags...)
	if err != nil {
		return nil, err
	}
	return t.repository.WithDirectory(".", o.out.Directory("changed")).Changes(t.repository), nil
}

// call runs a command on an environment and returns its report.
func (m *Slipway) call(ctx context.Context, env, command string, flags ...string) (string, error) {
	t, err := m.target(ctx, env)
	if err != nil {
		return "", err
	}
	return t.report(ctx, command, flags...)
}

// report runs a command and returns its report.
func (t *target) report(ctx context.Context, command string, flags ...string) (string, error) {
	o, err := t.runUncached(ctx, command, flags...)
	if err != nil {
		return "", err
	}
	return o.report, nil
}
