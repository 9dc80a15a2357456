package confine

import (
	"context"
	"errors"
	"io"
	"strconv"
	"syscall"
	"testing"
	"time"

	"slipway/internal/testkit/soon"
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

// A program that does not end when it is asked to is killed, with what it has started.
func TestToolKills(t *testing.T) {
	before := patience
	t.Cleanup(func() { patience = before })
	patience = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	const script = `trap "" INT; setsid sh -c 'trap "" INT; echo $$; exec sleep 3600' & wait`
	started := 0
	tool := Tool{Name: "bash", Env: []string{"PATH=/usr/bin:/bin"}, Stderr: io.Discard, Group: true}
	_, err := tool.Lines(ctx, func(line []byte) {
		started, _ = strconv.Atoi(string(line))
		stop()
	}, "-c", script)
	if !errors.Is(err, ErrKilled) || started == 0 {
		t.Errorf("got %v, it started %d", err, started)
	}
	soon.Wait(t, "what it has started ends", func() bool { return syscall.Kill(started, 0) != nil })
}
