// Package console says on the terminal what happens, and refuses what cannot be done.
package console

import (
	"fmt"
	"os"
	"time"
)

var started = time.Now()

// Say prints one line of progress, with the seconds since the start.
func Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%4.0fs] %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
}

// During reports that a long piece of work has started, that it is still running, and how long it
// took. The returned function ends it.
func During(what string) func() {
	begin := time.Now()
	Say("%s …", what)
	done := make(chan struct{})
	go func() {
		for tick := time.Tick(30 * time.Second); ; {
			select {
			case <-done:
				return
			case <-tick:
				Say("%s … still running after %.0f s", what, time.Since(begin).Seconds())
			}
		}
	}()
	return func() {
		close(done)
		Say("%s: %.1f s", what, time.Since(begin).Seconds())
	}
}
