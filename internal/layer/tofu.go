package layer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"slipway/internal/plan"
	"slipway/internal/printable"
	"slipway/internal/report"
	"slipway/internal/run"
	"slipway/internal/tofu"
)

// Tofu runs a tofu command. An error names it by command, such as "state rm".
func (l *Layer) Tofu(ctx context.Context, command string, args ...string) error {
	code, err := l.Events(ctx, nil, args...)
	if err != nil || code != tofu.ExitOK {
		return l.Failed(ctx, command, err)
	}
	return nil
}

// TofuOutput is Tofu, and returns the command's output.
func (l *Layer) TofuOutput(ctx context.Context, command string, args ...string) ([]byte, error) {
	data, code, err := l.Tool.Output(ctx, args...)
	if err != nil || code != tofu.ExitOK {
		return nil, l.Failed(ctx, command, err)
	}
	return data, nil
}

// Events runs a tofu command that prints events. It keeps the diagnostics, reports progress, passes
// each event to next, which may be nil, and returns the exit code.
func (l *Layer) Events(ctx context.Context, next func(tofu.Event), args ...string) (int, error) {
	return l.Tool.Events(ctx, func(e tofu.Event) {
		l.event(e)
		if next != nil {
			next(e)
		}
	}, l.other, args...)
}

func (l *Layer) event(e tofu.Event) {
	if len(e.State) > 0 {
		l.Dumped = e.State
	}
	switch e.Type {
	case tofu.DiagnosticMsg:
		l.Diagnostics = append(l.Diagnostics, e.Diagnostic)
	case tofu.ApplyStart, tofu.ApplyComplete, tofu.ApplyErrored:
		address := report.MaskAddress(printable.Terminal(e.Hook.Resource.Address), l.Mask.String)
		l.Say("%s: %s %s %s", l.Name, run.Word(address), run.Word(printable.Terminal(e.Hook.Action)), run.Word(progress[e.Type]))
	}
}

var progress = map[string]string{
	tofu.ApplyStart: "…", tofu.ApplyComplete: "done", tofu.ApplyErrored: "failed",
}

// other keeps a line that is not an event.
func (l *Layer) other(line []byte) {
	_, _ = l.Printed.Write(append(line, '\n'))
}

// Failed returns the error of a failed tofu command and shows the reason. If the mask may not know
// every value in it, tofu's own message is dropped.
func (l *Layer) Failed(ctx context.Context, command string, err error) error {
	doubt := l.doubt(ctx, command)
	dropped := false
	for _, d := range l.Diagnostics {
		if d.Severity != "error" {
			continue
		}
		if doubt != "" && !ofState(d) {
			d.Summary, d.Detail, dropped = "dropped", "", true
		}
		l.complain(tofu.Explain(d))
	}
	if text := l.Printed.String(); text != "" {
		if doubt == "" {
			l.complain(strings.TrimSpace(text))
		} else {
			dropped = true
		}
	}
	if dropped {
		l.complain("tofu's message is not shown because it may contain secrets: " + doubt)
	}
	l.Printed.Reset()
	if ctx.Err() != nil {
		return fmt.Errorf("tofu %s of %s was stopped", command, l.Name)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("tofu %s of %s failed", command, l.Name)
}

// doubt says why the mask may not know every value that a failed command printed, or "" if it knows
// all.
func (l *Layer) doubt(ctx context.Context, command string) string {
	if command == "init" {
		return "" // the command evaluates nothing
	}
	if l.Unwritten {
		return "the state of this run could not be written, and its sensitive values are not known"
	}
	if ctx.Err() != nil {
		return "the run was stopped before the sensitive values of the state could be read"
	}
	if err := l.learn(ctx); err != nil {
		return "the state could not be read, and its sensitive values are not known"
	}
	return ""
}

// ofState reports whether a diagnostic is tofu's own message about the state.
func ofState(d tofu.Diagnostic) bool {
	summary := strings.ToLower(d.Summary)
	return d.Address == "" && d.Range == nil && (strings.Contains(summary, "state") || strings.Contains(summary, "encryption") || strings.Contains(summary, "decrypt"))
}

// ComplainsOfState reports whether tofu reported an error about the state, for example that it
// could not be written.
func (l *Layer) ComplainsOfState() bool {
	return slices.ContainsFunc(l.Diagnostics, func(d tofu.Diagnostic) bool { return d.Severity == "error" && ofState(d) })
}

// complain keeps a tool's message for the console.
func (l *Layer) complain(text string) {
	l.Complaints.WriteString(l.Name + ": " + printable.Terminal(text) + "\n")
}

// Warn shows and keeps the warnings of a command that succeeded. Their details are dropped, because
// they may contain values that are not marked as sensitive.
func (l *Layer) Warn() {
	var said []string // tofu reports a failed check when it refreshes and again when it plans
	for _, d := range l.Diagnostics {
		if d.Severity != "warning" {
			continue
		}
		d.Detail = ""
		text := tofu.Explain(d)
		if slices.Contains(said, text) {
			continue
		}
		said = append(said, text)
		l.Say("%s", text)
	}
	l.Warnings = append(l.Warnings, said...)
	l.Diagnostics = nil
	l.Printed.Reset()
}

// learn masks what the state marks as sensitive.
func (l *Layer) learn(ctx context.Context) error {
	tool := l.Tool
	tool.Stderr = nil
	data, code, err := tool.Output(ctx, tofu.ShowStateArgs()...)
	if err != nil {
		return err
	}
	if code != tofu.ExitOK {
		return fmt.Errorf("tofu show ended with code %d", code)
	}
	values, err := plan.Sensitive(data)
	l.Mask.AddMarked(values...)
	return err
}
