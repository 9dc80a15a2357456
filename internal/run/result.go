package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"slipway/internal/fault"
	"slipway/internal/printable"
	"slipway/internal/report"
)

// Exit codes of every command.
const (
	Done     = 0 // done, or nothing to change
	Failed   = 1
	Changes  = 2 // done, and there are changes
	BadInput = 3 // refused before anything changed; the hint is the next command
	Half     = 4 // a part is done, and the rest was not begun
)

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return Done
	case fault.Is(err, fault.Refused):
		return BadInput
	case fault.Is(err, fault.Unfinished):
		return Half
	}
	return Failed
}

// A Result is the content of /out/result.json.
type Result struct {
	Version     int            `json:"version"` // 1
	Stage       string         `json:"stage"`   // name of the command
	Environment string         `json:"environment,omitempty"`
	RunID       string         `json:"run_id,omitempty"`
	ExitCode    int            `json:"exit_code"`
	Status      string         `json:"status"` // done, changes, or the kind of the error
	Layers      []*LayerResult `json:"layers,omitempty"`
	Hosts       []HostResult   `json:"hosts,omitempty"`
	Nodes       []NodeResult   `json:"nodes,omitempty"`
	Checks      []CheckResult  `json:"checks,omitempty"`
	Digest      string         `json:"digest,omitempty"` // digest of a plan
	Error       string         `json:"error,omitempty"`
	Hint        string         `json:"hint,omitempty"` // the exact next command
	Seconds     float64        `json:"seconds"`
	Timings     []Timing       `json:"timings,omitempty"`
}

// A LayerResult is the result for one layer.
type LayerResult struct {
	Name    string         `json:"name"`
	Changes map[string]int `json:"changes"` // by action, such as create; only those that occur
	Outputs int            `json:"outputs"` // number of changed outputs
	Applied bool           `json:"applied"`
}

// A HostResult is the result of a playbook on one host. The numbers count tasks.
type HostResult struct {
	Name        string `json:"name"`
	Status      string `json:"status"` // ok, changed, failed, unreachable, interrupted or skipped
	OK          int    `json:"ok"`
	Changed     int    `json:"changed"`
	Failed      int    `json:"failed"`
	Unreachable int    `json:"unreachable"`
}

// A NodeResult is what was done to one node of a cluster.
type NodeResult struct {
	Name      string `json:"name"`
	Status    string `json:"status"`  // configured, changed, bootstrapped or failed; empty: nothing was done
	Changes   int    `json:"changes"` // number of settings
	Restarted bool   `json:"restarted"`
}

// A CheckResult is the result of one check of a deployed system.
type CheckResult struct {
	Name   string `json:"name"`
	Status string `json:"status"` // passed or failed
	Found  string `json:"found"`  // in one sentence, masked
}

// A Timing is how long a step took.
type Timing struct {
	Step    string  `json:"step"`
	Seconds float64 `json:"seconds"`
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// End writes the result and the report, and returns the exit code. Main calls it.
func (r *Run) End(err error) int {
	result := &r.Result
	switch {
	case err != nil:
		if e, ok := fault.Refusal(err); ok && r.touched() {
			err = fault.New(fault.Unfinished, e.Hint, "%w", err)
		}
		result.ExitCode, result.Status = ExitCode(err), string(fault.Failed)
		if e, ok := fault.Of(err); ok {
			result.Status, result.Hint = string(e.Kind), e.Hint
		}
	case r.Changed:
		result.ExitCode, result.Status = Changes, "changes"
	default:
		result.ExitCode, result.Status = Done, "done"
	}
	if err != nil {
		result.Error, result.Hint = printable.Log(err.Error()), printable.Log(result.Hint)
	}
	result.Seconds = seconds(time.Since(r.Begun))
	r.Mask.Settle()
	result.Error, result.Hint = r.Mask.String(result.Error), r.Mask.String(result.Hint)
	for i := range result.Checks {
		result.Checks[i].Found = r.Mask.String(printable.Log(result.Checks[i].Found))
	}
	text := r.Report.Masked(r.Mask.String)
	fmt.Fprint(r.Stdout, printable.Log(text+r.Mask.String(r.Complaints.String())))
	if err := r.write(text); err != nil {
		fmt.Fprintf(r.Stderr, "slipway: error: %v\n", err)
		if result.ExitCode == Done || result.ExitCode == Changes {
			result.ExitCode = Failed
		}
	}
	if result.Error != "" {
		fmt.Fprint(r.Stderr, "slipway: error: "+result.Error+"\n")
	}
	if result.Hint != "" {
		fmt.Fprint(r.Stderr, "slipway: hint: "+result.Hint+"\n")
	}
	return result.ExitCode
}

// touched reports whether the run has changed a layer, a host or a node: a refusal now comes too late.
func (r *Run) touched() bool {
	return slices.ContainsFunc(r.Result.Layers, func(l *LayerResult) bool { return l.Applied }) ||
		slices.ContainsFunc(r.Result.Hosts, func(h HostResult) bool { return h.Changed > 0 }) ||
		slices.ContainsFunc(r.Result.Nodes, func(n NodeResult) bool { return n.Status != "" })
}

// write writes result.json and summary.md. The report and the error are already masked, field by
// field: masking the whole file would also hide field names and actions when a secret has the same
// text.
func (r *Run) write(report string) error {
	data, err := json.MarshalIndent(r.Result, "", "  ")
	if err != nil {
		return err
	}
	summary := r.summary(report)
	if r.command.Summary != nil {
		if summary, err = r.command.Summary(r); err != nil {
			return err
		}
	}
	return errors.Join(r.Leave("result.json", append(data, '\n')), r.Leave("summary.md", []byte(summary)))
}

// Leave writes a file for the caller, below the results folder.
func (r *Run) Leave(name string, data []byte) error {
	path := filepath.Join(r.Out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// LeaveChanged writes a new version of a repository file.
func (r *Run) LeaveChanged(name string, data []byte) error {
	return r.Leave(filepath.Join("changed", name), data)
}

// SummaryRoom is the maximum length of a summary in a GitHub comment, in bytes.
const SummaryRoom = 65536

// summary returns the report as Markdown.
func (r *Run) summary(text string) string {
	title := r.Result.Stage
	if r.Result.Environment != "" {
		title += " of " + r.Result.Environment
	}
	summary := fmt.Sprintf("## %s: %s\n\n", title, r.Result.Status)
	if text != "" {
		summary += report.Block(strings.Split(strings.TrimSpace(text), "\n"), SummaryRoom/2)
	}
	if r.Result.Error != "" {
		summary += "\n" + report.Block(strings.Split(r.Result.Error, "\n"), SummaryRoom/4)
	}
	return summary
}
