package main

import (
	"fmt"
	"os"
	"time"
)

var started = time.Now()

// say prints one line of progress, with the seconds since the start.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%4.0fs] %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
}

// during reports that a long piece of work has started, that it is still running, and how long it
// took. The returned function ends it.
func during(what string) func() {
	begin := time.Now()
	say("%s …", what)
	done := make(chan struct{})
	go func() {
		for tick := time.Tick(30 * time.Second); ; {
			select {
			case <-done:
				return
			case <-tick:
				say("%s … still running after %.0f s", what, time.Since(begin).Seconds())
			}
		}
	}()
	return func() {
		close(done)
		say("%s: %.1f s", what, time.Since(begin).Seconds())
	}
}
