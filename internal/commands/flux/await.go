package flux

import (
	"context"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway/internal/fault"
	"slipway/internal/flux"
	"slipway/internal/kubeapi"
	"slipway/internal/kubernetes"
	"slipway/internal/printable"
	"slipway/internal/redact"
	"slipway/internal/run"
	"slipway/internal/wait"
)

// A patience is how long an install waits while nothing changes.
type patience struct {
	slow   time.Duration // for what its controller works on
	broken time.Duration // for what its controller has given up, and will try again
}

var usualPatience = patience{slow: 10 * time.Minute, broken: 3 * time.Minute}

// A judge says why an object is not as it is to be; nothing if it is. broken means that its controller has given up.
type judge func(now *unstructured.Unstructured) (why string, broken bool)

// notCurrent judges objects of Kubernetes' own kinds.
func notCurrent(now *unstructured.Unstructured) (why string, broken bool) {
	result, err := status.Compute(now)
	switch {
	case err != nil:
		return err.Error(), true
	case result.Status == status.CurrentStatus:
		return "", false
	}
	return result.Message, result.Status == status.FailedStatus
}

// notReady judges objects of Flux.
func notReady(now *unstructured.Unstructured) (why string, broken bool) {
	s := flux.StatusOf(*now)
	switch s.Ready {
	case flux.Yes, flux.Silent:
		return "", false
	case flux.No:
		return s.Reason + ": " + s.Message, true
	}
	return s.Reason, false
}

// await waits for an object. It fails if the reason has been the same for too long. again is the call that goes on.
func await(ctx context.Context, c *kubernetes.Cluster, p patience, again string, o *unstructured.Unstructured, ready judge) error {
	name := kubeapi.NameOf(o)
	last, since := "", time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		now, err := c.API.Get(ctx, o)
		if err != nil {
			return c.Failed(ctx, err)
		}
		why, broken := "it is gone", true
		if now != nil {
			why, broken = ready(now)
		}
		if why == "" {
			return nil
		}
		if last == "" {
			c.Say("waiting: %s", run.Word(name))
		}
		if why != last {
			last, since = why, time.Now()
		}
		limit := p.slow
		if broken {
			limit = p.broken
		}
		if time.Since(since) >= limit {
			return notYet(ctx, c, name, why)
		}
		if err := wait.For(ctx, pause); err != nil {
			return fault.New(fault.Interrupted, again, "the wait for %s was interrupted", name)
		}
	}
}

// notYet says why an object is not ready. Controllers quote secrets in their messages.
func notYet(ctx context.Context, c *kubernetes.Cluster, name, reason string) error {
	values, err := c.API.SecretValues(ctx)
	if err != nil {
		return c.Failed(ctx, err)
	}
	shown := printable.Shorten(strings.Join(strings.Fields(redact.New(values...).String(reason)), " "), longestMessage)
	return fault.New(fault.Unreachable, "dagger call flux status --env="+c.Env, "%s is not ready: %s", name, printable.Terminal(shown))
}
