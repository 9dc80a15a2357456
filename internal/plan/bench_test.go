//go:build bench

package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestBenchRead compares reading a plan of 10,000 changes with decoding alone, in time of the processor.
func TestBenchRead(t *testing.T) {
	rounds := 7
	if text := os.Getenv("SLIPWAY_BENCH_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	data := large(t, 10_000)
	measure := func(f func()) time.Duration {
		runtime.GC()
		begin := cpuTime(t)
		f()
		return cpuTime(t) - begin
	}
	var decodes, reads []time.Duration
	for range rounds {
		decodes = append(decodes, measure(func() {
			var decoded any
			if err := json.Unmarshal(data, &decoded); err != nil {
				t.Fatal(err)
			}
			runtime.KeepAlive(decoded)
		}))
		reads = append(reads, measure(func() {
			if s, _, err := Read(bytes.NewReader(data)); err != nil || len(s.Changes) != 10_000 {
				t.Fatalf("got %d changes, %v", len(s.Changes), err)
			}
		}))
	}
	slices.Sort(decodes)
	slices.Sort(reads)
	decode, read := decodes[rounds/2].Seconds(), reads[rounds/2].Seconds()
	fmt.Printf("reading a plan of 10,000 changes, %d MB          %6.2f s of CPU = %.2f × decoding it\n", len(data)>>20, read, read/decode)
	if read > 1.5*decode && rounds > 1 {
		t.Errorf("reading takes %.2f × decoding", read/decode)
	}
}

// cpuTime is what this process has had of the processors: other than the time of day, it
// does not depend on what else the machine does.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
