// Package review contains the commands that propose a change and approve it: plan and approve.
package review

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"time"

	"slipway/internal/clusters"
	"slipway/internal/hold"
	"slipway/internal/layer"
	"slipway/internal/plan"
	"slipway/internal/playbook"
	"slipway/internal/report"
	"slipway/internal/run"
	"slipway/internal/sealedplan"
	"slipway/internal/tofu"
	"slipway/internal/verify"
)

// lifetime is the time after which a sealed plan is refused.
const lifetime = 7 * 24 * time.Hour

// Plan shows what an apply would change, and seals the plan. It takes no lock: it changes nothing,
// and an apply refuses an outdated plan.
func Plan() run.Command {
	p := &planning{sealer: sealedplan.Sealer{Lifetime: lifetime}}
	return run.Command{
		Name: "plan", Help: "show what an apply would change",
		Opens: run.State, ByLayer: true, WithCluster: true, Reads: true,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&p.sealer.Commit, "commit", "", "commit of the files, for the manifest")
			f.StringVar(&p.sealer.Base, "base", "", "commit into which they are to be merged, for the manifest")
			f.BoolVar(&p.sealer.Keep, "keep", false, "store the sealed plan in the state's bucket")
		},
		Run:     p.run,
		Summary: p.summary,
	}
}

// playbookRoom is how many bytes a terminal gets of the list of the playbook's files.
const playbookRoom = 2000

// planning is one plan of an environment.
type planning struct {
	sealer sealedplan.Sealer
	layers []report.Layer // the planned layers

	deployment *report.Deployment
}

func (p *planning) run(ctx context.Context, r *run.Run) error {
	if err := p.sealer.Check(r); err != nil {
		return err
	}
	var c *clusters.Cluster
	if clusters.Chosen(r) {
		var err error
		if c, err = clusters.OpenToCompare(r); err != nil {
			return err
		}
	}
	after := "" // the first layer that changes
	err := layer.Each(ctx, r, func(l *layer.Layer) error {
		if err := hold.NoteRuns(ctx, hold.State(l.Run, l.Config)); err != nil {
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
	if c != nil {
		if err := p.proposeCluster(ctx, c, after); err != nil {
			return err
		}
	}
	if p.deployment, err = playbook.Since(ctx, r); err != nil {
		return err
	}
	if p.deployment != nil {
		r.Report.WriteString(p.deployment.Text(r.Env, playbookRoom))
	}
	r.Result.Digest = p.sealer.Digest(r)
	fmt.Fprintf(&r.Report, "%s: the digest of this plan is %s\n", r.Env, r.Result.Digest)
	return nil
}

// plannedAgain is the note on a part that depends on an earlier one.
const plannedAgain = "will be planned again when %s has been applied"

// propose shows the plan of one layer and seals it. If after names an earlier layer that changes,
// this layer is planned again after that layer is applied.
func (p *planning) propose(ctx context.Context, l *layer.Layer, summary plan.Summary, after string) error {
	layer := report.Layer{Name: l.Name, Summary: summary, Warnings: l.Warnings}
	l.Show(summary)
	if after != "" {
		layer.Note = fmt.Sprintf(plannedAgain, after)
		fmt.Fprintf(&l.Report, "%s: %s\n", l.Name, layer.Note)
	}
	p.layers = append(p.layers, layer)
	return p.sealer.Seal(ctx, l, summary, after)
}

// summary writes summary.json for the comment, and returns its Markdown. A failed plan also has
// one.
func (p *planning) summary(r *run.Run) (string, error) {
	e := report.Environment{Version: report.Version, Name: r.Env, Error: r.Result.Error, Hint: r.Result.Hint, Digest: r.Result.Digest, Layers: p.layers, Deployment: p.deployment}
	if r.Environment != nil {
		e.Playbook, e.Checks = r.Environment.Deploy != nil, verify.Harmless(r.Environment.Verify)
	}
	e = e.Masked(r.Mask.String)
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return "", err
	}
	return report.Markdown(report.Report{Environments: []report.Environment{e}}, run.SummaryRoom), r.Leave(report.FileName, append(data, '\n'))
}
