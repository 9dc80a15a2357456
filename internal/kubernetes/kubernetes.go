// Package kubernetes opens the Kubernetes API of an environment's cluster.
package kubernetes

import (
	"context"
	"time"

	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/kubeapi"
	"slipway/internal/run"
	"slipway/internal/talos"
)

// A Cluster is one with its API.
type Cluster struct {
	*clusters.Cluster
	API *kubeapi.API
}

// Open opens the cluster of an environment and its API.
func Open(ctx context.Context, r *run.Run) (*Cluster, error) {
	c, _, err := clusters.Reach(ctx, r)
	if err != nil {
		return nil, err
	}
	return Of(ctx, c)
}

// Of opens the API of a cluster that is open, with a login for this run that only the memory of this process has.
func Of(ctx context.Context, c *clusters.Cluster) (*Cluster, error) {
	access, err := c.Access(ctx)
	if err != nil {
		return nil, err
	}
	login, err := talos.Kubeconfig(c.Spec, c.Secrets, LoginLifetime(ctx), "")
	if err != nil {
		return nil, err
	}
	c.Mask.Add(login.Key)
	api, err := kubeapi.New(login.File, access.Dial)
	return &Cluster{c, api}, err
}

// Failed says why the API did not do something.
func (c *Cluster) Failed(ctx context.Context, err error) error {
	hint := "dagger call cluster health --env=" + c.Env
	if ctx.Err() != nil {
		return fault.New(fault.Interrupted, hint, "the call was stopped before the Kubernetes API had answered")
	}
	if refused := c.Refused(); refused != nil {
		return refused
	}
	return fault.New(fault.Unreachable, hint, "%s at %s: %w", c.Spec.Name, c.Spec.Endpoint, kubeapi.Why(err))
}

// LoginLifetime returns how long a login of a call is valid: as long as the call may last, because a server checks the
// certificate at each request, and an hour at most.
func LoginLifetime(ctx context.Context) time.Duration {
	deadline, limited := ctx.Deadline()
	if !limited {
		return 15 * time.Minute
	}
	return min(time.Until(deadline), time.Hour)
}
