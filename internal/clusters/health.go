package clusters

import (
	"cmp"
	"context"
	"errors"
	"time"

	"slipway/internal/cluster"
	"slipway/internal/fault"
	"slipway/internal/printable"
	"slipway/internal/rollout"
	"slipway/internal/run"
	"slipway/internal/talosapi"
	"slipway/internal/wait"
)

// CheckHealth fails unless every node is ready and etcd has all its members. It names the first thing that is wrong.
func (c *Cluster) CheckHealth(s State) error {
	hint := "dagger call cluster logs --env=" + c.Env + " --node="
	for _, n := range c.Spec.Nodes {
		// A control plane without etcd is not ready because of that, and a better reason follows.
		if o := s.Nodes[n.Name]; o.Busy || !o.Ready && !o.Etcd.Empty {
			return fault.Fail(hint+n.Name+" --service=kubelet", "%s is %s", n.Name, StateOf(o))
		}
	}
	if why := rollout.Unhealthy(c.Situation(s, nil)); why != "" {
		return fault.Fail(hint+c.Spec.Of(cluster.ControlPlane)[0].Name+" --service=etcd", "%s", why)
	}
	return nil
}

// StateOf says in a few words how a node is.
func StateOf(o talosapi.Observation) string {
	switch {
	case o.API == rollout.Silent || o.API == rollout.Stranger:
		return string(o.API) + " (" + o.Why + ")"
	case o.API == rollout.Maintenance || o.Busy:
		return cmp.Or(printable.Terminal(o.Stage), "-")
	case o.Ready:
		return "ready"
	}
	return "not ready (" + printable.Terminal(printable.Shorten(o.Unmet, 100)) + ")"
}

// AwaitHealth waits until the cluster is healthy. It fails if nothing has changed for so long.
func (c *Cluster) AwaitHealth(ctx context.Context, patience time.Duration) error {
	access, err := c.Access(ctx)
	if err != nil {
		return err
	}
	w := waiter{patience: patience}
	for {
		s, err := c.Observe(ctx, access)
		if ctx.Err() != nil {
			return fault.New(fault.Interrupted, "dagger call cluster health --env="+c.Env, "the wait for the health of the cluster was interrupted")
		}
		if err != nil {
			return err
		}
		ill := c.CheckHealth(s)
		if ill == nil {
			return nil
		}
		if w.reason != ill.Error() {
			c.Say("waiting: %s", run.Word(ill.Error()))
		}
		if err := w.wait(ctx, ill.Error()); errors.Is(err, errImpatient) {
			return ill
		}
	}
}

// A waiter waits for one thing after the other.
type waiter struct {
	patience time.Duration // for one of them
	reason   string        // why it waits
	since    time.Time
	pause    time.Duration
}

// Pauses before the nodes are asked again.
const (
	shortest = 50 * time.Millisecond
	longest  = 5 * time.Second
)

var errImpatient = errors.New("nothing changes")

// wait lets some time pass. It fails with errImpatient if the reason has been the same for too long.
func (w *waiter) wait(ctx context.Context, reason string) error {
	if reason != w.reason {
		w.reason, w.since = reason, time.Now()
	}
	if time.Since(w.since) > w.patience {
		return errImpatient
	}
	w.pause = min(max(2*w.pause, shortest), longest)
	return wait.For(ctx, w.pause)
}
