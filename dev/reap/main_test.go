package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain is reap itself, with a short grace, when a test asks for it: what it adopts is of a whole process.
func TestMain(m *testing.M) {
	if command := os.Getenv("TEST_REAP"); command != "" {
		code, err := run([]string{"sh", "-c", command}, 100*time.Millisecond)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		code    int
		says    string
	}{
		"done":                     {"echo done", 0, "done"},
		"failed":                   {"exit 3", 3, ""},
		"killed":                   {"kill -9 $$", 255, ""},
		"waits for its child":      {"sleep 0.3 & wait; echo done", 0, "done"},
		"leaves a child":           {"sleep 3600 & exit 0", 1, "left behind, and killed now:"},
		"leaves a session":         {"setsid sh -c 'sleep 3600 & echo $$; wait' & echo first; exit 0", 1, "sleep 3600"},
		"leaves a child and fails": {"sleep 3600 & exit 3", 1, "sleep 3600"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "TEST_REAP="+c.command)
			output, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(output), c.says) {
				t.Errorf("exit code %d, not %d:\n%s", code, c.code, output)
			}
		})
	}
}
