package playbook

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"slipway/internal/ansible"
	"slipway/internal/printable"
	"slipway/internal/run"
)

// results returns the hosts' results, sorted by name. A host of the inventory without any is
// skipped: the limit or the play left it out.
func (s *Site) results(done *ansible.Record, interrupted bool) []run.HostResult {
	var list []run.HostResult
	names := map[string]bool{}
	for _, h := range s.Hosts {
		names[h.Name] = true
	}
	for name := range done.Hosts {
		names[name] = true // such as localhost
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		stats := done.Hosts[name]
		if stats == nil {
			status := "skipped"
			if interrupted {
				status = "interrupted"
			}
			list = append(list, run.HostResult{Name: name, Status: status})
			continue
		}
		h := run.HostResult{Name: name, Status: "ok", OK: stats.OK, Changed: stats.Changed, Failed: stats.Failed, Unreachable: stats.Unreachable}
		switch {
		case stats.Unreachable > 0:
			h.Status = "unreachable"
		case stats.Failed > 0:
			h.Status = "failed"
		case interrupted:
			h.Status = "interrupted"
		case stats.Changed > 0:
			h.Status = "changed"
		}
		list = append(list, h)
	}
	return list
}

// longest is how much of a task's own messages is shown: a program can print anything.
const longest = 16 << 10

// Show adds the results to the report: with differences what a dry run would change, then the
// failures, then a table of the hosts. A difference has the old content of a file, and with it
// perhaps an earlier secret, which the mask does not know. So a report for others has none.
func (s *Site) Show(done *ansible.Record, differences bool) {
	if differences {
		for _, c := range done.Changes {
			s.Report.Add(func(mask func(string) string) string { return mask(describe(c)) })
		}
	}
	for _, f := range done.Fatal() {
		s.Report.Add(func(mask func(string) string) string {
			return mask(fmt.Sprintf("%s: %s in %q (%s): %s\n", f.Host, verdict(f), f.Task, s.place(f.Path), s.brief(f))) + printable.Shorten(mask(inset(f.Reason)), longest)
		})
	}
	if len(s.Result.Hosts) == 0 {
		return
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "HOST\tRESULT\tOK\tCHANGED\tFAILED\tUNREACHABLE")
	for _, h := range s.Result.Hosts {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\n", h.Name, h.Status, h.OK, h.Changed, h.Failed, h.Unreachable)
	}
	_ = w.Flush() // to memory
	s.Report.WriteString(table.String())
}

// describe returns a change with its differences.
func describe(c ansible.Change) string {
	text := strings.TrimSpace(fmt.Sprintf("%s: %s %s", c.Host, c.Task, c.Item)) + "\n"
	for _, d := range c.Diffs {
		text += inset(d.Unified())
	}
	return text
}

// inset returns lines moved to the right, each without what controls a terminal.
func inset(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(control.ReplaceAllString(text, "")) {
		lines.WriteString("  " + printable.Terminal(strings.TrimRight(line, "\n")) + "\n")
	}
	return lines.String()
}

// control matches a whole sequence that moves the cursor or sets a colour, as programs print them.
var control = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
