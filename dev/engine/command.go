package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// output runs cmd, made by exec.CommandContext, and returns its standard output.
// An error carries the end of what the command wrote.
//
// The command is the first of a process namespace of its own, and what it mounts
// is seen by nobody else. When we are told to stop, or die, it is killed, and all
// that it started and mounted goes with it: nothing is left in the way of the
// next up.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWPID,
		Unshareflags: syscall.CLONE_NEWNS, // which makes its mounts private, too
		Pdeathsig:    syscall.SIGKILL,
	}
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, refuse("apt-get install "+filepath.Base(cmd.Args[0]), "%s is not installed", cmd.Args[0])
	}
	if err == nil {
		return stdout.Bytes(), nil
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()+"\n"+stdout.String()), "\n")
	tail := strings.Join(lines[max(0, len(lines)-12):], "\n  ")
	name := filepath.Base(cmd.Args[0])
	if offline(stderr.String()) {
		return nil, refuse("connect this machine and repeat the command: what is done is kept", "no network: %s says\n  %s", name, tail)
	}
	return nil, fmt.Errorf("%s: %w\n  %s", name, err, tail)
}

// offline recognises what go, apt and mmdebstrap write when no server answers.
func offline(text string) bool {
	for _, sign := range []string{
		"dial tcp", "no such host", "network is unreachable", // go
		"Temporary failure resolving", "Could not resolve", "Could not connect", "Cannot initiate the connection", // apt
	} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}
