package processes_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"slipway/internal/processes"
	"slipway/internal/testkit"
)

func TestDescendants(t *testing.T) {
	// A name that looks like the end of a name, and a child in a session of its own.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `setsid sh -c 'echo $$; read line' <&3 & echo "$!"; wait`)
	input, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd.ExtraFiles = []*os.File{input}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Start(t, cmd)
	_ = input.Close()
	lines := bufio.NewScanner(stdout)
	var pids []int
	for len(pids) < 2 && lines.Scan() {
		var pid int
		if _, err := fmt.Sscan(lines.Text(), &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if got := processes.Children(cmd.Process.Pid); len(got) != 1 || !slices.Contains(pids, got[0]) {
		t.Errorf("the children are %v, of %v", got, pids)
	}
	if got := processes.Descendants(os.Getpid()); !slices.Contains(got, cmd.Process.Pid) || !slices.Contains(got, pids[0]) || !slices.Contains(got, pids[1]) {
		t.Errorf("our descendants are %v, without one of %v", got, append(pids, cmd.Process.Pid))
	}
	if got := processes.Descendants(cmd.Process.Pid); slices.Contains(got, os.Getpid()) {
		t.Errorf("we are among its descendants: %v", got)
	}
}
