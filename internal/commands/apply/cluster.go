package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/rollout"
	"slipway/internal/run"
	"slipway/internal/sealedplan"
)

// A clusterPart is the part of an apply that changes the nodes of the environment's cluster. It is nil if
// there is none.
type clusterPart struct {
	*clusters.Cluster
	quorumLost bool
	reviewed   *clusters.Reviewed // nil: no plan was reviewed
	repeat     string             // the command that applies it again
	postponed  error              // why it is not applied
}

// openCluster opens the cluster, if the apply works on it. What is wrong with its files is refused before a layer
// is changed.
func openCluster(r *run.Run, o options) (*clusterPart, error) {
	if !clusters.Chosen(r) {
		if o.quorumLost {
			return nil, fault.Refuse("dagger call cluster apply --env="+r.Env+" --quorum-lost", "--quorum-lost is for a cluster, and this apply works on none")
		}
		return nil, nil
	}
	c, err := clusters.Read(r)
	if err != nil {
		return nil, err
	}
	if err := c.NeedSecrets(); err != nil {
		return nil, err
	}
	return &clusterPart{Cluster: c, quorumLost: o.quorumLost}, c.Check()
}

// part returns the cluster in the form in which its plan is found.
func (c *clusterPart) part() *sealedplan.Cluster {
	if c == nil {
		return nil
	}
	return c.Part()
}

// review limits the apply to its part of a plan.
func (c *clusterPart) review(found sealedplan.Found, source sealedplan.Source) error {
	if c == nil {
		return nil
	}
	p := found.Cluster
	if p.After != "" {
		c.postponed = fault.New(fault.Unfinished, source.PlanCommand(c.Run), "%s is not applied: it could not be planned before %s was applied", cluster.FileName, p.After)
		return nil
	}
	data, err := source.Open(c.Run, p)
	if err != nil {
		return err
	}
	c.repeat = "dagger call apply --env=" + c.Env + source.Options(c.Run) + " --digest=" + found.Digest
	c.reviewed, err = c.Review(data, source.PlanCommand(c.Run))
	fmt.Fprintf(&c.Report, "%s: the plan of run %s, made %s\n", cluster.FileName, p.RunID, p.Made())
	return err
}

// apply gives each node its configuration, one at a time. made has the outputs of the layers.
func (c *clusterPart) apply(ctx context.Context, made made) error {
	if c.postponed != nil {
		return c.postponed
	}
	if err := c.findNodes(ctx, made); err != nil {
		return err
	}
	err := c.roll(ctx, rollout.Configure, rollout.Change)
	if errors.Is(err, clusters.ErrBefore) {
		fmt.Fprintf(&c.Report, "%s: every node has its configuration, and etcd has not begun: dagger call cluster bootstrap --env=%s\n", c.Spec.Name, c.Env)
		return nil
	}
	return err
}

// findNodes completes the cluster by the nodes and the bastion that the layers list.
func (c *clusterPart) findNodes(ctx context.Context, made made) error {
	if !c.NeedsLayers() {
		return nil
	}
	if c.OnlyLayer != "" {
		return c.AskLayers(ctx)
	}
	for _, l := range made {
		if err := c.Add(l.layer, l.outputs); err != nil {
			return err
		}
	}
	return c.Complete()
}

func (c *clusterPart) roll(ctx context.Context, only ...rollout.Kind) error {
	o, err := clusters.NewRollout(ctx, c.Cluster, only...)
	if err != nil {
		return err
	}
	o.Lost, o.Reviewed, o.Repeat = c.quorumLost, c.reviewed, cmp.Or(c.repeat, o.Repeat)
	err = c.Timed("change the nodes", func() error { return o.Do(ctx) })
	o.Show()
	return err
}
