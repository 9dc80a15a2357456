// Reap runs a command and fails if a program that the command started, directly or not, outlives it. Such
// programs are named, and killed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slipway/internal/processes"
)

// grace is how long a program may take to end after the command.
const grace = time.Minute

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: reap COMMAND…")
		os.Exit(2)
	}
	signal.Ignore(os.Interrupt) // which the command gets as well
	code, err := run(os.Args[1:], grace)
	if err != nil {
		fmt.Fprintln(os.Stderr, "reap:", err)
	}
	os.Exit(code)
}

// run returns the command's exit code, or 1 if it cannot be run or leaves programs behind.
func run(command []string, grace time.Duration) (code int, err error) {
	// Children of a program that ends become ours.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1, err
	}
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return 1, err
		}
		if pid == cmd.Process.Pid {
			code = status.ExitStatus() // -1 if it was killed
			break
		}
	}
	var left []string
	for end := time.Now().Add(grace); ; time.Sleep(20 * time.Millisecond) {
		_, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.ECHILD) {
			break
		}
		if time.Now().Before(end) {
			continue
		}
		for _, pid := range processes.Children(os.Getpid()) {
			left = append(left, fmt.Sprintf("%d %s", pid, commandLine(pid)))
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	if len(left) > 0 {
		return 1, fmt.Errorf("left behind, and killed now:\n  %s", strings.Join(left, "\n  "))
	}
	return code, nil
}

func commandLine(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}
