// Package review has the commands that propose a change and approve it: plan and approve.
package stage

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"time"

	"slipway/internal/plan"
	"slipway/internal/report"
	"slipway/internal/tofu"
)

// Plan shows what an apply would change, and seals it. It takes no lock: it changes nothing, and
// an apply refuses a plan that the state has moved away from.
func Plan() Command {
	p := &planRun{}
	return Command{
		Name: "plan", Help: "show what an apply would change",
		Opens: State, Reads: true,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&p.sealer.Commit, "commit", "", "commit of the files, for the manifest")
			f.StringVar(&p.sealer.Base, "base", "", "commit that they are to be merged into, for the manifest")
			f.BoolVar(&p.sealer.Keep, "keep", false, "keep the sealed plan in the state's bucket")
			f.DurationVar(&p.sealer.Lifetime, "plan-lifetime", 7*24*time.Hour, "time after which the sealed plan is refused")
		},
		Run:     p.run,
		Summary: p.summary,
	}
}

// planRun is one plan of an environment.
type planRun struct {
	sealer Sealer
	layers []report.Layer // that were planned
}

func (p *planRun) run(ctx context.Context, r *Run) error {
	if err := p.sealer.Check(r); err != nil {
		return err
	}
	after := "" // the first layer that changes
	err := Each(ctx, r, func(l *Layer) error {
		if err := NoteRuns(ctx, l); err != nil {
			return err
		}
		summary, err := l.Plan(ctx, tofu.Plan{})
		if err != nil {
			return err
		}
		if err := p.propose(ctx, l, summary.Relevant(), after); err != nil {
			return err
		}
		if !summary.Empty() {
			after = cmp.Or(after, l.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Changed = after != ""
	r.Result.Digest = p.sealer.Digest(r)
	fmt.Fprintf(&r.Report, "%s: the digest of this plan is %s\n", r.Env, r.Result.Digest)
	return nil
}

// propose shows the plan of one layer, and seals it. With after, the name of an earlier layer that
// changes, it is made again when that has been applied.
func (p *planRun) propose(ctx context.Context, l *Layer, summary plan.Summary, after string) error {
	layer := report.Layer{Name: l.Name, Summary: summary}
	l.Show(summary)
	if after != "" {
		layer.Note = fmt.Sprintf("will be planned again when %s has been applied", after)
		fmt.Fprintf(&l.Report, "%s: %s\n", l.Name, layer.Note)
	}
	p.layers = append(p.layers, layer)
	return p.sealer.Seal(ctx, l, summary, after)
}

// summary leaves summary.json for the comment, and returns its Markdown. A plan that failed has
// one, too.
func (p *planRun) summary(r *Run) (string, error) {
	e := report.Environment{Name: r.Env, Error: r.Result.Error, Hint: r.Result.Hint, Digest: r.Result.Digest, Layers: p.layers}
	e = e.Masked(r.Mask.String)
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return "", err
	}
	return report.Markdown(report.Report{Environments: []report.Environment{e}}, SummaryRoom), r.Leave(report.FileName, append(data, '\n'))
}
