package tofu

import (
	"fmt"
	"strings"

	"slipway/internal/printable"
)

// Explain writes a diagnostic as a few lines for a terminal.
func Explain(d Diagnostic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", d.Severity, d.Summary)
	var where []string
	if d.Address != "" {
		where = append(where, d.Address)
	}
	if d.Range != nil {
		where = append(where, fmt.Sprintf("%s:%d", d.Range.File, d.Range.Start.Line))
	}
	if len(where) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(where, ", "))
	}
	for line := range strings.Lines(strings.TrimSpace(d.Detail)) {
		b.WriteString("\n  " + strings.TrimRight(line, "\n"))
	}
	return printable.Terminal(b.String())
}
