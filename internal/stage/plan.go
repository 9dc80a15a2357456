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
func (s *Run) plan(ctx context.Context) error {
	after := "" // the first layer that changes
	err := s.eachPlanned(ctx, s.CheckSeal, func(r *Layer, summary plan.Summary) error {
		if err := r.propose(ctx, summary.Relevant(), after); err != nil {
			return err
		}
		if !summary.Empty() {
			after = cmp.Or(after, r.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.Changes = after != ""
	s.Result.Digest = manifest.PlanDigest(s.Env, s.sealed)
	fmt.Fprintf(&s.Report, "%s: the digest of this plan is %s\n", s.Env, s.Result.Digest)
	return nil
}

// propose shows the plan of one layer, and seals it. With after, the name of an earlier layer
// that changes, it is made again when that has been applied.
func (r *Layer) propose(ctx context.Context, summary plan.Summary, after string) error {
	layer := report.Layer{Name: r.Name, Summary: summary}
	r.Show(summary)
	if after != "" {
		layer.Note = fmt.Sprintf("will be planned once more when %s has been applied", after)
		fmt.Fprintf(&r.Report, "%s: %s\n", r.Name, layer.Note)
	}
	r.layers = append(r.layers, layer)
	return r.Seal(ctx, summary, after)
}

// eachPlanned plans every chosen root, in order, and hands each summary to f. Before
// the first tool starts it calls check.
func (s *Run) eachPlanned(ctx context.Context, check func() error, f func(*Layer, plan.Summary) error) error {
	if err := s.Timed("open", func() error { return s.Open(ctx) }); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	roots, err := s.Layers()
	if err != nil {
		return err
	}
	for _, r := range roots {
		if err := r.NoteRuns(ctx); err != nil {
			return err
		}
		if err := r.Init(ctx); err != nil {
			return err
		}
		summary, err := r.Plan(ctx, tofu.Plan{})
		if err != nil {
			return err
		}
		if err := f(r, summary); err != nil {
			return err
		}
	}
	return nil
}

// Plan makes a plan and reduces it to what may be shown.
func (r *Layer) Plan(ctx context.Context, config tofu.Plan) (plan.Summary, error) {
	config.Out = r.PlanFile()
	r.Say("%s: planning", r.Name)
	var summary plan.Summary
	each := r.event(func(e tofu.Event) { summary.Drift = append(summary.Drift, driftIn(e)...) })
	code := 0
	err := r.Timed("plan "+r.Name, func() (err error) {
		code, err = r.Tool.Events(ctx, each, r.other, config.Args()...)
		if err != nil || code == tofu.ExitError {
			return r.Failed(ctx, "plan", err)
		}
		return nil
	})
	if err != nil {
		return plan.Summary{}, err
	}
	if !r.toBeRead(code, summary) {
		r.Warn()
		return summary, nil
	}
	return r.ReadPlan(ctx)
}

// toBeRead says whether a plan that ended with that code tells more than its events did. Of
// one without changes there is nothing to read, and reading takes as long as deriving the
// key does. Only a check for drift wants to know what drifted.
func (s *Run) toBeRead(code int, summary plan.Summary) bool {
	return code != tofu.ExitOK || len(summary.Drift) > 0 && s.Result.Stage == "drift"
}

// driftIn is what an event tells of drift.
func driftIn(e tofu.Event) []plan.Drift {
	if e.Type != tofu.ResourceDrift {
		return nil
	}
	return []plan.Drift{{Address: e.Change.Resource.Address, Deleted: e.Change.Action == "delete"}}
}

// ReadPlan reads the saved plan and reduces it to what may be shown.
func (r *Layer) ReadPlan(ctx context.Context) (summary plan.Summary, err error) {
	err = r.Timed("show "+r.Name, func() error {
		var values []string
		unread, code, err := r.Tool.Read(ctx, func(output io.Reader) (err error) {
			summary, values, err = plan.Read(output)
			return err
		}, tofu.ShowPlanArgs(r.PlanFile())...)
		if err != nil || code != tofu.ExitOK {
			return r.Failed(ctx, "show", err)
		}
		if unread != nil {
			return unread
		}
		r.AddMarked(values...) // for the errors of an apply of this plan
		r.Warn()
		if summary.Errored {
			return fmt.Errorf("the plan of %s is not whole and cannot be applied", r.Name)
		}
		return nil
	})
	for _, action := range plan.Actions {
		if n := summary.Count(action); n > 0 {
			r.Row.Changes[string(action)] = n
		}
	}
	r.Row.Outputs = len(summary.Outputs)
	r.Creates, r.Replaces = summary.Creates(), summary.Replaces()
	return summary, err
}

// consoleRoom is how many bytes a summary takes on a terminal.
const consoleRoom = 256 << 10

// Show puts a summary into the report.
func (r *Layer) Show(summary plan.Summary) {
	one := report.Environment{Name: r.Name, Layers: []report.Layer{{Name: r.Name, Summary: summary.Relevant()}}}
	r.Report.Add(func(mask func(string) string) string {
		return report.Console(report.Report{Environments: []report.Environment{one.Masked(mask)}}, consoleRoom)
	})
}

// view is the environment's plan as it is shown, also if there is none.
func (s *Run) view() report.Environment {
	e := report.Environment{Name: s.Env, Error: s.Result.Error, Hint: s.Result.Hint, Digest: s.Result.Digest, Layers: s.layers}
	return e.Masked(s.redactor.String)
}

// Warn shows the warnings of a command that went well, without their details:
// those may hold values that nothing has marked.
func (r *Layer) Warn() {
	for _, d := range r.Diagnostics {
		if d.Severity == "warning" {
			d.Detail = ""
			r.Say("%s", explain(d))
		}
	}
	r.Diagnostics = nil
	r.ToolOutput.Reset()
}

// event handles what tofu tells while it works, and hands it on.
func (r *Layer) event(next func(tofu.Event)) func(tofu.Event) {
	return func(e tofu.Event) {
		if len(e.State) > 0 {
			r.Dumped = e.State
		}
		switch e.Type {
		case tofu.DiagnosticMsg:
			r.Diagnostics = append(r.Diagnostics, e.Diagnostic)
		case tofu.ApplyStart, tofu.ApplyComplete, tofu.ApplyErrored:
			r.Say("%s: %s %s %s", r.Name, name(report.MaskAddress(plain(e.Hook.Resource.Address), r.redactor.String)), name(plain(e.Hook.Action)), name(progress[e.Type]))
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
func (r *Layer) other(line []byte) {
	_, _ = r.ToolOutput.Write(append(line, '\n'))
}

func (s *Run) RefuseLocked(format string, args ...any) error {
	return refusal.New("dagger call unlock --env="+s.Env+"   # names the holder; or wait for it", format, args...)
}
