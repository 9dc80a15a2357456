package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"slipway/dev/engine/console"
)

// publishedVersion is the Dagger for people with Docker. It is newer than ours, which is the newest
// that can be built from Go modules. The workflows' action installs it.
//
// renovate: datasource=github-releases depName=dagger/dagger
const publishedVersion = "v0.19.11"

// runnerHostVariable tells Dagger's CLI which engine to use.
const runnerHostVariable = "_EXPERIMENTAL_DAGGER_RUNNER_HOST"

// An otherEngine is an engine that we neither build nor stop.
type otherEngine struct{ what string }

// otherEngine finds the engine that the caller already has, if any: one that the environment names
// and that responds, otherwise one that the CLI starts in Docker.
func (s settings) otherEngine(ctx context.Context) (*otherEngine, error) {
	version := cliVersion(ctx)
	host := os.Getenv(runnerHostVariable)
	if host != "" && host != s.runnerHost() {
		if !fits(version) {
			found := "there is no dagger in PATH"
			if version != "" {
				found = "the dagger in PATH is " + version
			}
			return nil, console.Refuse("install the Dagger CLI "+publishedVersion+", or unset "+runnerHostVariable+" to build an engine",
				"%s, and %s needs %s or %s", found, host, daggerVersion, publishedVersion)
		}
		if answers(ctx) {
			return &otherEngine{"the engine at " + host}, nil
		}
		console.Say("no engine responds at %s: skipping it", host)
	}
	if host == "" && fits(version) && dockerAnswers(ctx) {
		return &otherEngine{"Docker and the dagger in PATH"}, nil
	}
	return nil, nil
}

// fits reports whether a CLI of that version is one that this module was written for.
func fits(version string) bool { return version == daggerVersion || version == publishedVersion }

// cliVersion returns the version of the dagger in PATH, or "".
func cliVersion(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "dagger", "version").Output()
	if err != nil {
		return ""
	}
	// dagger v0.19.10 (image://registry.dagger.io/engine:v0.19.10) linux/amd64
	fields := strings.Fields(string(out))
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}

// answers reports whether the engine that the environment names serves the CLI.
func answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "dagger", "core", "version")
	cmd.WaitDelay = time.Second
	return cmd.Run() == nil
}

// dockerAnswers reports whether there is a Docker daemon for the CLI to use.
func dockerAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := exec.CommandContext(ctx, "docker", "info").Run()
	return err == nil && !errors.Is(err, exec.ErrNotFound)
}
