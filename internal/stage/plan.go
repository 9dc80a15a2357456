package stage

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"slipway/internal/manifest"
	"slipway/internal/plan"
	"slipway/internal/refusal"
	"slipway/internal/report"
	"slipway/internal/tofu"
)

// plan shows what an apply would change. It takes no lock: it changes nothing,
// and an apply refuses a plan that the state has moved away from.
func (s *session) plan(ctx context.Context) error {
	after := "" // the first layer that changes
	err := s.eachPlanned(ctx, s.checkSeal, func(r *root, summary plan.Summary) error {
		if err := r.propose(ctx, summary.Relevant(), after); err != nil {
			return err
		}
		if !summary.Empty() {
			after = cmp.Or(after, r.name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.changes = after != ""
	s.result.Digest = manifest.PlanDigest(s.Environment, s.sealed)
	fmt.Fprintf(&s.report, "%s: the digest of this plan is %s\n", s.Environment, s.result.Digest)
	return nil
}

// propose shows the plan of one layer, and seals it. With after, the name of an earlier layer
// that changes, it is made again when that has been applied.
func (r *root) propose(ctx context.Context, summary plan.Summary, after string) error {
	layer := report.Layer{Name: r.name, Summary: summary, Warnings: r.warnings}
	r.show(summary)
	if after != "" {
		layer.Note = fmt.Sprintf("will be planned once more when %s has been applied", after)
		fmt.Fprintf(&r.report, "%s: %s\n", r.name, layer.Note)
	}
	r.layers = append(r.layers, layer)
	return r.seal(ctx, summary, after)
}

// eachPlanned plans every chosen root, in order, and hands each summary to f. Before
// the first tool starts it calls check.
func (s *session) eachPlanned(ctx context.Context, check func() error, f func(*root, plan.Summary) error) error {
	if err := s.timed("open", func() error { return s.open(ctx) }); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	roots, err := s.roots()
	if err != nil {
		return err
	}
	for _, r := range roots {
		if err := r.noteRuns(ctx); err != nil {
			return err
		}
		if err := r.init(ctx); err != nil {
			return err
		}
		summary, err := r.planned(ctx, tofu.Plan{})
		if err != nil {
			return err
		}
		if err := f(r, summary); err != nil {
			return err
		}
	}
	return nil
}

// planned makes a plan and reduces it to what may be shown.
func (r *root) planned(ctx context.Context, config tofu.Plan) (plan.Summary, error) {
	config.Out = r.planFile()
	r.say("%s: planning", r.name)
	var summary plan.Summary
	each := r.event(func(e tofu.Event) { summary.Drift = append(summary.Drift, driftIn(e)...) })
	code := 0
	err := r.timed("plan "+r.name, func() (err error) {
		code, err = r.tool.Events(ctx, each, r.other, config.Args()...)
		if err != nil || code == tofu.ExitError {
			return r.failed(ctx, "plan", err)
		}
		return nil
	})
	if err != nil {
		return plan.Summary{}, err
	}
	if !r.toBeRead(code, summary) {
		r.warn()
		return summary, nil
	}
	return r.reduced(ctx)
}

// toBeRead says whether a plan that ended with that code tells more than its events did. Of
// one without changes there is nothing to read, and reading takes as long as deriving the
// key does. Only a check for drift wants to know what drifted.
func (s *session) toBeRead(code int, summary plan.Summary) bool {
	return code != tofu.ExitOK || len(summary.Drift) > 0 && s.result.Stage == "drift"
}

// driftIn is what an event tells of drift.
func driftIn(e tofu.Event) []plan.Drift {
	if e.Type != tofu.ResourceDrift {
		return nil
	}
	return []plan.Drift{{Address: e.Change.Resource.Address, Deleted: e.Change.Action == "delete"}}
}

// reduced reads the saved plan and reduces it to what may be shown.
func (r *root) reduced(ctx context.Context) (summary plan.Summary, err error) {
	err = r.timed("show "+r.name, func() error {
		var values []string
		unread, code, err := r.tool.Read(ctx, func(output io.Reader) (err error) {
			summary, values, err = plan.Read(output, r.environment.Shown()...)
			return err
		}, tofu.ShowPlanArgs(r.planFile())...)
		if err != nil || code != tofu.ExitOK {
			return r.failed(ctx, "show", err)
		}
		if unread != nil {
			return unread
		}
		r.hideMarked(values...) // for the errors of an apply of this plan
		r.warn()
		if summary.Errored {
			return fmt.Errorf("the plan of %s is not whole and cannot be applied", r.name)
		}
		return nil
	})
	for _, action := range plan.Actions {
		if n := summary.Count(action); n > 0 {
			r.row.Changes[string(action)] = n
		}
	}
	r.row.Outputs = len(summary.Outputs)
	r.creates, r.replaces = summary.Creates(), summary.Replaces()
	return summary, err
}

// consoleRoom is how many bytes a summary takes on a terminal.
const consoleRoom = 256 << 10

// show puts a summary into the report.
func (r *root) show(summary plan.Summary) {
	one := report.Environment{Name: r.name, Layers: []report.Layer{{Name: r.name, Summary: summary.Relevant()}}}
	r.report.add(func(mask func(string) string) string {
		return report.Console(report.Report{Environments: []report.Environment{one.Masked(mask)}}, consoleRoom)
	})
}

// view is the environment's plan as it is shown, also if there is none.
func (s *session) view() report.Environment {
	e := report.Environment{Version: report.Version, Name: s.Environment, Error: s.result.Error, Hint: s.result.Hint, Digest: s.result.Digest, Layers: s.layers}
	return e.Masked(s.redactor.String)
}

// warn shows and keeps the warnings of a command that went well, without their
// details: those may hold values that nothing has marked.
func (r *root) warn() {
	for _, d := range r.diagnostics {
		if d.Severity == "warning" {
			d.Detail = ""
			r.warnings = append(r.warnings, explain(d))
			r.say("%s", explain(d))
		}
	}
	r.diagnostics = nil
	r.noise.Reset()
}

// event handles what tofu tells while it works, and hands it on.
func (r *root) event(next func(tofu.Event)) func(tofu.Event) {
	return func(e tofu.Event) {
		if len(e.State) > 0 {
			r.dumped = e.State
		}
		switch e.Type {
		case tofu.DiagnosticMsg:
			r.diagnostics = append(r.diagnostics, e.Diagnostic)
		case tofu.ApplyStart, tofu.ApplyComplete, tofu.ApplyErrored:
			r.say("%s: %s %s %s", r.name, name(report.MaskAddress(plain(e.Hook.Resource.Address), r.redactor.String)), name(plain(e.Hook.Action)), name(progress[e.Type]))
		}
		if next != nil {
			next(e)
		}
	}
}

var progress = map[string]string{
	tofu.ApplyStart: "…", tofu.ApplyComplete: "done", tofu.ApplyErrored: "failed",
}

// other keeps a line that is no event.
func (r *root) other(line []byte) {
	_, _ = r.noise.Write(append(line, '\n'))
}

func (s *session) locked(format string, args ...any) error {
	return refusal.New("dagger call unlock --env="+s.Environment+"   # names the holder; or wait for it", format, args...)
}
