package testkit

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// A program and its children end with the test, and not because some thread of the test has ended.
func TestStart(t *testing.T) {
	output, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("starts it", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 3600 & echo ready; read line; echo again; wait")
		cmd.Stdout = stdout
		input, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		Start(t, cmd)
		_ = stdout.Close()
		says := func(want string) {
			t.Helper()
			text := make([]byte, len(want))
			if _, err := io.ReadFull(output, text); err != nil || string(text) != want {
				t.Errorf("it says %q, %v", text, err)
			}
		}
		says("ready\n")
		for range 100 {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				runtime.LockOSThread() // and never unlocked: the thread ends
			}()
			<-ended
		}
		if _, err := io.WriteString(input, "\n"); err != nil {
			t.Error(err)
		}
		says("again\n")
	})
	// It ends when nobody has the pipe open any more.
	if _, err := io.ReadAll(output); err != nil {
		t.Error(err)
	}
}
