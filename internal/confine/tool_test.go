package confine

import (
	"context"
	"io"
	"testing"
)

// A program that waits for a child with a session of its own, as Ansible does, ends with it: the child is asked
// to stop, too.
func TestToolInsists(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	const script = `trap : INT
setsid sh -c 'echo ready; exec env --default-signal=INT sleep 3600 >/dev/null 2>&1' &
while kill -0 $! 2>/dev/null; do wait $!; done
exit 99`
	tool := Tool{Name: "bash", Env: []string{"PATH=/usr/bin:/bin"}, Stderr: io.Discard, Group: true}
	code, err := tool.Lines(ctx, func(line []byte) {
		if string(line) == "ready" {
			stop()
		}
	}, "-c", script)
	if code != 99 || err != nil {
		t.Errorf("got %d, %v", code, err)
	}
}
