package layer

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"slipway/internal/plan"
	"slipway/internal/report"
	"slipway/internal/run"
	"slipway/internal/tofu"
)

// Plan creates a plan, saves it in PlanFile, and reduces it to what may be shown. A plan without
// changes is not read back: that would cost another key derivation and show nothing.
func (l *Layer) Plan(ctx context.Context, config tofu.Plan) (plan.Summary, error) {
	summary, code, err := l.plan(ctx, config)
	if err != nil {
		return plan.Summary{}, err
	}
	if code == tofu.ExitOK {
		l.Warn()
		return summary, nil
	}
	return l.ReadPlan(ctx)
}

// Draft makes a plan that is only looked at. Where nothing but postconditions fail, it lacks what depends on
// those resources: then it is not complete, and the diagnostics stay.
func (l *Layer) Draft(ctx context.Context, config tofu.Plan) (complete bool, err error) {
	config.Out = l.PlanFile()
	if err := os.RemoveAll(config.Out); err != nil {
		return false, err
	}
	l.Say("%s: planning", l.Name)
	code, err := l.Events(ctx, nil, config.Args()...)
	if err == nil && code != tofu.ExitError {
		_, err = l.ReadPlan(ctx)
		l.ForgetPlan()
		return err == nil, err
	}
	serious := func(d tofu.Diagnostic) bool { return d.Severity == "error" && d.Summary != tofu.PostconditionFailed }
	if _, missing := os.Stat(config.Out); err != nil || missing != nil || ctx.Err() != nil || slices.ContainsFunc(l.Diagnostics, serious) {
		return false, l.Failed(ctx, "plan", err)
	}
	return false, nil
}

// PlanForDrift is Plan, but also reads back a plan that has drift and no changes.
func (l *Layer) PlanForDrift(ctx context.Context) (plan.Summary, error) {
	summary, code, err := l.plan(ctx, tofu.Plan{})
	if err != nil {
		return plan.Summary{}, err
	}
	if code == tofu.ExitOK && len(summary.Drift) == 0 {
		l.Warn()
		return summary, nil
	}
	return l.ReadPlan(ctx)
}

// plan creates a plan. Its summary only contains the drift that the events report.
func (l *Layer) plan(ctx context.Context, config tofu.Plan) (summary plan.Summary, code int, err error) {
	config.Out = l.PlanFile()
	l.Say("%s: planning", l.Name)
	err = l.Timed("plan "+l.Name, func() (err error) {
		code, err = l.Events(ctx, func(e tofu.Event) { summary.Drift = append(summary.Drift, driftIn(e)...) }, config.Args()...)
		if err != nil || code == tofu.ExitError {
			return l.Failed(ctx, "plan", err)
		}
		return nil
	})
	return summary, code, err
}

// driftIn returns the drift that an event reports.
func driftIn(e tofu.Event) []plan.Drift {
	if e.Type != tofu.ResourceDrift {
		return nil
	}
	return []plan.Drift{{Address: e.Change.Resource.Address, Deleted: e.Change.Action == "delete"}}
}

// ReadPlan reads the saved plan and reduces it to what may be shown.
func (l *Layer) ReadPlan(ctx context.Context) (summary plan.Summary, err error) {
	err = l.Timed("show "+l.Name, func() error {
		var values []string
		unread, code, err := l.Tool.Read(ctx, func(output io.Reader) (err error) {
			summary, values, err = plan.Read(output, l.Environment.Shown()...)
			return err
		}, tofu.ShowPlanArgs(l.PlanFile())...)
		if err != nil || code != tofu.ExitOK {
			return l.Failed(ctx, "show", err)
		}
		if unread != nil {
			return unread
		}
		l.Mask.AddMarked(values...) // for errors when this plan is applied
		l.Warn()
		if summary.Errored {
			return fmt.Errorf("the plan of %s is incomplete and cannot be applied", l.Name)
		}
		return nil
	})
	for _, action := range plan.Actions {
		if n := summary.Count(action); n > 0 {
			l.Row.Changes[string(action)] = n
		}
	}
	l.Row.Outputs = len(summary.Outputs)
	l.Creates, l.Replaces = summary.Creates(), summary.Replaces()
	return summary, err
}

// ForgetPlan removes the last plan from the result: it was only created to be read.
func (l *Layer) ForgetPlan() {
	clear(l.Row.Changes)
	l.Row.Outputs, l.Creates = 0, nil
}

// consoleRoom is the maximum length of a summary on a terminal, in bytes.
const consoleRoom = 256 << 10

// Show adds the summary of a plan to the report.
func (l *Layer) Show(summary plan.Summary) {
	Show(l.Run, report.Layer{Name: l.Name, Summary: summary.Relevant()})
}

// Show adds a part of a plan to the report.
func Show(r *run.Run, part report.Layer) {
	one := report.Environment{Name: part.Name, Layers: []report.Layer{part}}
	r.Report.Add(func(mask func(string) string) string {
		return report.Console(report.Report{Environments: []report.Environment{one.Masked(mask)}}, consoleRoom)
	})
}
