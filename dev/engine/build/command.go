package build

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"slipway/dev/engine/console"
)

// Output runs cmd, made by exec.CommandContext, and returns its standard output. An error includes
// the end of the command's output.
//
// The command is the first process of its own process namespace, and its mounts are private. When
// we are told to stop, or die, it is killed together with everything it started and mounted, so
// that nothing is in the way of the next up.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWPID,
		Unshareflags: syscall.CLONE_NEWNS, // this also makes its mounts private
		Pdeathsig:    syscall.SIGKILL,
	}
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, console.Refuse("apt-get install "+filepath.Base(cmd.Args[0]), "%s is not installed", cmd.Args[0])
	}
	if err == nil {
		return stdout.Bytes(), nil
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()+"\n"+stdout.String()), "\n")
	tail := strings.Join(lines[max(0, len(lines)-12):], "\n  ")
	name := filepath.Base(cmd.Args[0])
	if offline(stderr.String()) {
		return nil, console.Refuse("connect this machine to a network and repeat the command: finished work is kept", "no network: %s says\n  %s", name, tail)
	}
	return nil, fmt.Errorf("%s: %w\n  %s", name, err, tail)
}

// offline recognises the messages of go, apt and mmdebstrap when no server responds.
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
