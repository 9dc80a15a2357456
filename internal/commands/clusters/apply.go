package clusters

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/rollout"
	"slipway/internal/run"
	"slipway/internal/talos"
)

// Apply gives each node the configuration that it is to have, one at a time.
func Apply() run.Command {
	var lost bool
	return run.Command{
		Name: "cluster-apply", Help: "give each node of a cluster its configuration, one at a time",
		Opens: run.State,
		Flags: func(f *flag.FlagSet) {
			f.BoolVar(&lost, "quorum-lost", false, "change control planes although etcd has no leader, as most of them are down")
		},
		Run: func(ctx context.Context, r *run.Run) error {
			if r.Environment.Protected {
				return fault.Refuse("dagger call cluster config --env="+r.Env, "environment %s is protected, and a reviewed plan of a cluster cannot be applied yet", r.Env)
			}
			o, err := openRollout(ctx, r)
			if err != nil {
				return err
			}
			o.Only, o.Lost = []rollout.Kind{rollout.Configure, rollout.Change}, lost
			return apply(ctx, o)
		},
	}
}

// Bootstrap begins etcd, once in the life of a cluster.
func Bootstrap() run.Command {
	return run.Command{
		Name: "cluster-bootstrap", Help: "begin the etcd of a new cluster; one that exists is left as it is",
		Opens: run.State,
		Run: func(ctx context.Context, r *run.Run) error {
			o, err := openRollout(ctx, r)
			if err != nil {
				return err
			}
			o.Only = []rollout.Kind{rollout.Bootstrap}
			return bootstrap(ctx, o)
		},
	}
}

func openRollout(ctx context.Context, r *run.Run) (*clusters.Rollout, error) {
	c, err := clusters.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	access, err := talos.NewAccess(c.Secrets)
	return &clusters.Rollout{Cluster: c, Access: access}, err
}

func apply(ctx context.Context, o *clusters.Rollout) error {
	err := o.Do(ctx)
	showSteps(o)
	if errors.Is(err, clusters.ErrBefore) {
		fmt.Fprintf(&o.Report, "%s: every node has its configuration, and etcd has not begun: dagger call cluster bootstrap --env=%s\n", o.Spec.Name, o.Env)
		return nil
	}
	return err
}

func bootstrap(ctx context.Context, o *clusters.Rollout) error {
	err := o.Do(ctx)
	showSteps(o)
	if errors.Is(err, clusters.ErrBefore) {
		return fault.Refuse("dagger call cluster apply --env="+o.Env, "not every node of %s has its configuration", o.Spec.Name)
	}
	if err == nil {
		fmt.Fprintf(&o.Report, "%s: etcd runs on every control plane: %s\n", o.Spec.Name, list(o.Spec.Of(cluster.ControlPlane)))
	}
	return err
}

// showSteps says what was done to each node.
func showSteps(o *clusters.Rollout) {
	for _, n := range o.Result.Nodes {
		text := n.Status
		if n.Status == "changed" {
			text = fmt.Sprintf("%d settings changed", n.Changes)
		}
		if n.Restarted {
			text += ", and it was restarted"
		}
		fmt.Fprintf(&o.Report, "%s: %s\n", n.Name, text)
	}
	if len(o.Result.Nodes) == 0 {
		fmt.Fprintf(&o.Report, "%s: nothing to do\n", o.Spec.Name)
	}
}

func list(nodes []cluster.Node) (text string) {
	for i, n := range nodes {
		if i > 0 {
			text += ", "
		}
		text += n.Name
	}
	return text
}
