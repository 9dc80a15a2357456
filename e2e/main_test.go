//go:build e2e

// Package e2e drives the real engine through the commands that people type. It
// needs the engine that `make engine` starts; `make test` runs it.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// repository is the checkout under test.
var repository string

func TestMain(m *testing.M) {
	top, err := filepath.Abs("..")
	if err == nil {
		repository = top
		err = useEngine()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go watchEngine()
	os.Exit(m.Run())
}

// useEngine does what `eval "$(make -s env)"` does in a shell.
func useEngine() error {
	out, err := exec.CommandContext(context.Background(), "make", "-s", "-C", repository, "env").Output()
	if err != nil {
		return fmt.Errorf("make env: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok {
			continue
		}
		if err := os.Setenv(name, os.ExpandEnv(strings.ReplaceAll(value, `"`, ""))); err != nil { //nolint:forbidigo // for all tests, before the first
			return err
		}
	}
	return nil
}

// A result is what a finished command left.
type result struct {
	stdout, stderr string
	code           int
}

// run executes a command in the repository and returns how it ended.
func run(t *testing.T, name string, args ...string) result {
	t.Helper()
	return runWith(t, nil, name, args...)
}

// runWith is run with more environment variables.
func runWith(t *testing.T, env []string, name string, args ...string) result {
	t.Helper()
	return runIn(t, repository, env, name, args...)
}

// lostSession is what the engine says if it answered a call before it had registered the
// session of that call. It happens on busy machines, while the module is loaded: before anything has run.
var lostSession = regexp.MustCompile(`finding module configuration: failed to get requester session: session for "\w+" not found`)

// runIn is runWith in another folder. A call that the engine lost is repeated once.
func runIn(t *testing.T, dir string, env []string, name string, args ...string) result {
	t.Helper()
	r := runOnce(t, dir, env, name, args...)
	if r.code != 0 && lostSession.MatchString(r.stderr) {
		t.Logf("the engine lost the session of %s %q: repeated once", name, args)
		r = runOnce(t, dir, env, name, args...)
	}
	return r
}

// deadline is how long a command may take. Nothing here needs half of it.
const deadline = 20 * time.Minute

func runOnce(t *testing.T, dir string, env []string, name string, args ...string) result {
	t.Helper()
	// Not the test's own context, which has ended when a cleanup runs.
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	// A program that hangs leaves its stacks in the output, and no child of it is left.
	runtime.LockOSThread() // which the death signal depends on
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT) }
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 30 * time.Second // a child of what was killed may hold the output open
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		t.Fatalf("%s %q did not end within %s:\n%s%s", name, args, deadline, stdout.String(), stderr.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// dagger runs `dagger --progress=plain` with args.
func dagger(t *testing.T, args ...string) result {
	t.Helper()
	return run(t, "dagger", append([]string{"--progress=plain"}, args...)...)
}

// must fails the test unless the command exited with 0.
func (r result) must(t *testing.T) result {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit code %d: %s\n%s%s", r.code, r.ending(), r.stdout, r.stderr)
	}
	return r
}

var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// ending is the end of what a command said, first in a failure: CI shows a part.
func (r result) ending() string {
	lines := strings.Split(strings.TrimSpace(colors.ReplaceAllString(r.stderr, "")), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
