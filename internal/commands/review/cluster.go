package review

import (
	"context"
	"fmt"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/hold"
	"slipway/internal/layer"
	"slipway/internal/plan"
	"slipway/internal/report"
	"slipway/internal/run"
)

// proposeCluster shows the plan of the cluster and seals it. If after names a layer that changes, and the layers
// list the nodes, the cluster is planned again after that layer is applied.
func (p *planning) proposeCluster(ctx context.Context, c *clusters.Cluster, after string) error {
	if c.Listed {
		after = ""
	}
	if after == "" && c.NeedsLayers() {
		if err := c.AskLayers(ctx); err != nil {
			return err
		}
	}
	if err := hold.NoteRuns(ctx, hold.Nodes(c.Run)); err != nil {
		return err
	}
	part, data := report.Layer{Name: cluster.FileName}, []byte(nil)
	if after != "" {
		part.Note = fmt.Sprintf(plannedAgain, after)
	} else {
		planned, err := c.Plan(ctx)
		if err != nil {
			return err
		}
		part.Summary, part.Warnings = planned.Summary(), append(planned.Left, planned.Silent...)
		if !part.Summary.Empty() {
			part.Note, c.Changed = planned.Source, true
		}
		if data, err = planned.Encode(); err != nil {
			return err
		}
		c.Result.Layers = append(c.Result.Layers, row(part.Summary))
	}
	p.layers = append(p.layers, part)
	layer.Show(c.Run, part)
	return p.sealer.SealCluster(ctx, *c.Part(), data, part.Summary, after)
}

// row returns the entry of the cluster in the result.
func row(s plan.Summary) *run.LayerResult {
	row := &run.LayerResult{Name: cluster.FileName, Changes: map[string]int{}}
	for _, action := range plan.Actions {
		if n := s.Count(action); n > 0 {
			row.Changes[string(action)] = n
		}
	}
	return row
}
