package main

import (
	"fmt"
	"strings"
)

const (
	most    = 36 // lines, without the counts
	perTest = 12
	width   = 200
)

// text is the end of the run's output: at most 40 lines.
func (r *run) text() string {
	var lines []string
	add := func(format string, a ...any) { lines = append(lines, fmt.Sprintf(format, a...)) }
	named := len(r.failures) + len(r.flaky)
	room := max(0, most-len(r.notRun)-2*named)
	for i, f := range r.failures {
		if len(lines) >= most-len(r.notRun) {
			add("and %d more failed", len(r.failures)-i)
			break
		}
		add("FAILED: %s", f.name())
		shown := excerpt(f.output, min(perTest, room/max(1, named)))
		lines = append(lines, shown...)
		if f.log != "" {
			add("    all of it: %s", f.log)
		}
	}
	for i, f := range r.flaky {
		if len(lines) >= most-len(r.notRun) {
			add("and %d more flaky", len(r.flaky)-i)
			break
		}
		add("FLAKY, passed when repeated alone: %s", f.name())
		lines = append(lines, excerpt(f.output, min(perTest, room/max(1, named)))...)
		add("    all of it: %s", f.log)
	}
	lines = append(lines, r.notRun...)
	if r.deep > 0 {
		add("%d deep tests run under make test-all only", r.deep)
	}
	counts := fmt.Sprintf("%d passed, %d failed", r.passed, len(r.failures))
	if len(r.flaky) > 0 {
		counts += fmt.Sprintf(", %d flaky", len(r.flaky))
	}
	if r.skipped > 0 {
		counts += fmt.Sprintf(", %d skipped", r.skipped)
	}
	return strings.Join(append(lines, counts), "\n") + "\n"
}

func (f failure) name() string {
	switch {
	case f.test == "":
		return f.phase
	case f.phase == "" || f.phase == f.test:
		return f.test
	default:
		return f.test + " (" + f.phase + ")"
	}
}

// excerpt is n lines of output: the first ones say where it failed, the last ones how it ended.
func excerpt(output string, n int) []string {
	output = strings.TrimSpace(output)
	if output == "" || n == 0 {
		return nil
	}
	lines := strings.Split(output, "\n")
	if len(lines) > n {
		first := n / 3
		cut := append([]string{}, lines[:first]...)
		cut = append(cut, "…")
		lines = append(cut, lines[len(lines)-(n-first-1):]...)
	}
	for i, line := range lines {
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width]) + "…"
		}
		lines[i] = "    " + line
	}
	return lines
}
