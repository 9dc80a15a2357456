//go:build blackbox

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// traced is a root of n resources. Each takes some seconds and leaves a line in a file when it is
// created.
func traced(n int, trace, seconds string) string {
	return fmt.Sprintf(`
resource "terraform_data" "made" {
  count = %d
  provisioner "local-exec" {
    command = "sleep %s; echo terraform_data.made[${count.index}] >> %s"
  }
}
`, n, seconds, trace)
}

// countTraces fails unless each of n resources was made once. One that was in
// flight, and named as such, may have been made twice.
func countTraces(t *testing.T, trace string, n int, inFlight []string) {
	t.Helper()
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(data)) {
		counts[strings.TrimSpace(line)]++
	}
	if len(counts) != n {
		t.Errorf("%d of %d resources were made", len(counts), n)
	}
	for address, count := range counts {
		if count > 1 && !strings.Contains(strings.Join(inFlight, " ")+" ", address+" ") {
			t.Errorf("%s was made %d times, and not named as in flight", address, count)
		}
	}
}

var flight = regexp.MustCompile(`test: (\S+) was in flight`)

var unaccounted = regexp.MustCompile(`--seen='([^']+)'`)

// recover runs recover as an operator does: whatever it cannot account for is looked for and then
// confirmed.
func (p *project) recover(change ...func(*call)) ended {
	p.t.Helper()
	e := p.run("recover", change...)
	if match := unaccounted.FindStringSubmatch(e.stderr); match != nil {
		e.must(p.t, run.Failed)
		p.run("recover", append(change, accounted(match[1]))...).must(p.t, run.Done)
		return e
	}
	return e.must(p.t, run.Done)
}

// TestBlackBoxKilled kills applies with all that they started: one when half of its resources are made and,
// without -short, 20 at random instants. recover then tells what was made, what was in flight and whose lock it
// is; after it and an apply, the plan is empty and nothing was made twice.
func TestBlackBoxKilled(t *testing.T) {
	t.Parallel()
	kills, resources := 20, 24
	if testing.Short() {
		kills, resources = 0, 12
	}
	var interrupted, recovered int
	var lock sync.Mutex
	// A busy machine is slow: instants are counted from what has been made by then.
	type instant struct {
		made  int
		later time.Duration
	}
	instants := []instant{{made: resources / 2}}
	if kills > 0 {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		for range kills {
			instants = append(instants, instant{random.IntN(resources), time.Duration(random.Int64N(int64(time.Second)))})
		}
	}
	t.Run("instants", func(t *testing.T) {
		for _, instant := range instants {
			t.Run(fmt.Sprintf("%d made and %s", instant.made, instant.later.Round(time.Millisecond)), func(t *testing.T) {
				trace := filepath.Join(testkit.ForTools(t), "trace")
				slow, release := waiting(t) // so that it cannot end before it is killed
				p := newProject(t, traced(resources, trace, "1")+slow)
				p.run("bootstrap").must(t, run.Done)

				cmd := p.start(p.options("apply"), io.Discard)
				soon.Wait(t, "some are made", func() bool {
					text, _ := os.ReadFile(trace)
					return strings.Count(string(text), "\n") >= instant.made
				})
				time.Sleep(instant.later) //nolint:forbidigo // it kills at random moments
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				killed := cmd.Wait() != nil
				release()
				before, _ := os.ReadFile(trace)

				e := p.recover(dead)
				var inFlight []string
				for _, match := range flight.FindAllStringSubmatch(e.stdout, -1) {
					inFlight = append(inFlight, match[1])
				}
				made := strings.Count(e.stdout, "importing it into the state")
				lines := strings.Count(string(before), "\n")
				// What was made is known, or named as in flight.
				if killed && lines > made+len(inFlight) && !strings.Contains(e.stdout, "nothing was interrupted") {
					if list := p.run("state-list").must(t, run.Done).stdout; lines > strings.Count(list, "terraform_data")+len(inFlight) {
						t.Errorf("%d were made, %d are known and %d in flight", lines, made, len(inFlight))
					}
				}
				p.run("recover", dead).must(t, run.Done).says(t, "nothing was interrupted")
				p.run("apply").must(t, run.Done)
				p.run("plan").must(t, run.Done)
				countTraces(t, trace, resources, inFlight)

				lock.Lock()
				defer lock.Unlock()
				if killed {
					interrupted++
				}
				recovered += made
			})
		}
	})
	t.Logf("%d of %d applies were interrupted, and %d resources taken back", interrupted, len(instants), recovered)
	if 2*interrupted < len(instants) || recovered == 0 {
		t.Error("too few applies were interrupted for this to prove anything")
	}
}

// When asked to stop, an apply finishes what it has started, writes the state and releases the
// lock.
func TestBlackBoxStopped(t *testing.T) {
	trace := filepath.Join(testkit.ForTools(t), "trace")
	p := newProject(t, traced(40, trace, "1")) // tofu makes ten at a time
	p.run("bootstrap").must(t, run.Done)
	// Some are made, some have begun, and many have not.
	p.runWhile("apply", func(o call) {
		o.when(t, "one is made", func() bool { _, err := os.Stat(trace); return err == nil }, o.stop)
	}).must(t, run.Failed).says(t, "was stopped")
	p.run("unlock").must(t, run.Done).says(t, "not locked")
	p.run("apply").must(t, run.Done)
	p.run("plan").must(t, run.Done)
}
