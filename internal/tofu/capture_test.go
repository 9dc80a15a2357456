package tofu

import (
	"io"
	"strings"
	"sync"
	"testing"
)

// All of an output that has no end is taken, and only its first part is kept, whichever
// way it comes.
func TestCapture(t *testing.T) {
	var n Capture
	write := func(text string, kept int) {
		t.Helper()
		before := len(n.String())
		if taken, err := n.Write([]byte(text)); taken != len(text) || err != nil || len(n.String())-before != kept {
			t.Errorf("%d and %v of %d, of which %d are kept, want %d", taken, err, len(text), len(n.String())-before, kept)
		}
	}
	write("one ", 4)
	write(strings.Repeat("x", maxCapture-5), maxCapture-5)
	write("two", 1)
	write("three", 0)
	if text := n.String(); !strings.HasPrefix(text, "one xx") || !strings.HasSuffix(text, "xxt") {
		t.Error("it is not the first part")
	}
	n.Reset()
	if n.String() != "" {
		t.Error("it is not empty again")
	}
	// As os/exec does it with what a tool prints.
	const all = maxCapture + 1000
	if taken, err := io.Copy(&n, io.LimitReader(endless{}, all)); taken != all || err != nil || len(n.String()) != maxCapture {
		t.Errorf("%d and %v, of which %d are kept", taken, err, len(n.String()))
	}
}

// Both outputs of a tool may write at once.
func TestCaptureAtOnce(t *testing.T) {
	var n Capture
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 1000 {
				_, _ = n.Write([]byte("a line\n"))
			}
		})
	}
	group.Wait()
	if got := strings.Count(n.String(), "a line\n"); got != 4000 {
		t.Errorf("%d lines are kept", got)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
