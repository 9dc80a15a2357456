// Package soon waits for events in tests. Only tests import it.
package soon

import (
	"testing"
	"time"
)

// Wait returns when happened is true. It has no limit of its own, which a busy machine could exceed: if it
// never happens, the test fails shortly before go test would end every test of the package.
func Wait(t testing.TB, what string, happened func() bool) {
	t.Helper()
	var end <-chan time.Time
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := d.Deadline(); ok {
			end = time.After(time.Until(deadline) * 9 / 10)
		}
	}
	for pause := time.Millisecond; !happened(); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-end:
			t.Fatalf("it never happened: %s", what)
		case <-time.After(pause):
		}
	}
}
