package clusters

import (
	"context"
	"slices"
	"strings"
	"time"

	"slipway/internal/drift"
	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/plan"
)

// Drift compares the nodes with cluster.yaml, as a plan does, and tells by the record of the last apply who changed
// them. Without the secrets of the machines, it only compares the record with cluster.yaml. Its error names the nodes
// that could not be asked; the findings on the others are returned with it.
func (c *Cluster) Drift(ctx context.Context, expected []environment.Ignore, now time.Time) (*drift.Cluster, error) {
	if len(c.Spec.Nodes) == 0 { // the layers that list them are not applied
		return &drift.Cluster{Unapplied: []plan.Change{{Address: c.Spec.Name, Action: plan.Create}}}, nil
	}
	if err := c.Complete(); err != nil {
		return nil, err
	}
	last, unreadable := c.readRecord(ctx)
	if unreadable != nil && c.Secrets == nil {
		return nil, unreadable
	}
	if c.Secrets != nil && last.Run != "" { // a cluster on record can be reached, or the check has failed
		if _, err := c.Access(ctx); err != nil {
			return nil, err
		}
	}
	s, err := c.ask(ctx)
	if err != nil {
		return nil, err
	}
	p, err := c.planFrom(last, s)
	if err != nil {
		return nil, err
	}
	j := judgement{spec: c.Spec, plan: p, said: s, last: last, asked: c.Secrets != nil, unreadable: unreadable}
	j.expected = slices.DeleteFunc(slices.Clone(expected), func(e environment.Ignore) bool { return e.Expired(now) })
	j.judge()
	if len(j.unknown) > 0 {
		return &j.found, fault.New(fault.Unreachable, "dagger call cluster status --env="+c.Env, "not every node of %s could be asked: %s", c.Spec.Name, strings.Join(j.unknown, ", "))
	}
	return &j.found, nil
}
