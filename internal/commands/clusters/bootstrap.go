package clusters

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/rollout"
	"slipway/internal/run"
)

// Bootstrap begins etcd, once in the life of a cluster.
func Bootstrap() run.Command {
	return run.Command{
		Name: "cluster-bootstrap", Help: "begin the etcd of a new cluster; one that exists is left as it is",
		Opens: run.State,
		Run: func(ctx context.Context, r *run.Run) error {
			c, _, err := clusters.Reach(ctx, r)
			if err != nil {
				return err
			}
			o, err := clusters.NewRollout(ctx, c, rollout.Bootstrap)
			if err != nil {
				return err
			}
			return bootstrap(ctx, o)
		},
	}
}

func bootstrap(ctx context.Context, o *clusters.Rollout) error {
	err := o.Do(ctx)
	o.Show()
	if errors.Is(err, clusters.ErrBefore) {
		return fault.Refuse("dagger call cluster apply --env="+o.Env, "not every node of %s has its configuration", o.Spec.Name)
	}
	if err == nil {
		var names []string
		for _, n := range o.Spec.Of(cluster.ControlPlane) {
			names = append(names, n.Name)
		}
		fmt.Fprintf(&o.Report, "%s: etcd runs on every control plane: %s\n", o.Spec.Name, strings.Join(names, ", "))
	}
	return err
}
