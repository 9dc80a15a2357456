package confine_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"slipway/internal/confine"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// orphan is a tool that starts another program, prints its number, and waits for it.
const orphan = `sleep 3600 & echo $! ; wait`

// TestMain runs a tool instead of the tests, for those that kill it.
func TestMain(m *testing.M) {
	if os.Getenv("CONFINE_TEST_TOOL") == "" {
		os.Exit(m.Run())
	}
	tool := confine.Tool{Name: "sh", Env: []string{"PATH=/usr/bin:/bin"}, Stderr: os.Stderr}
	_, _ = tool.Run(context.Background(), os.Stdout, "-c", orphan)
}

// runs reports whether a process does something: one that has ended may not have been waited for yet.
func runs(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return state[0] != 'Z'
}

// Whoever is killed alone, we or the tool, what the tool has started ends as well.
func TestGroupEnds(t *testing.T) {
	for name, kill := range map[string]func(us, started int) error{
		"we are killed": func(us, _ int) error { return syscall.Kill(us, syscall.SIGKILL) },
		"the tool is killed": func(_, started int) error {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(started), "stat"))
			if err != nil {
				return err
			}
			_, fields, _ := strings.Cut(string(text), ") ")
			tool, err := strconv.Atoi(strings.Fields(fields)[1])
			return errors.Join(err, syscall.Kill(tool, syscall.SIGKILL))
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "CONFINE_TEST_TOOL=1")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			testkit.Start(t, cmd)
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			started, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil || !runs(started) {
				t.Fatalf("got %q, %v", line, err)
			}
			if err := kill(cmd.Process.Pid, started); err != nil {
				t.Fatal(err)
			}
			soon.Wait(t, "what the tool has started ends", func() bool { return !runs(started) })
		})
	}
}
