package reconcile

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

// A Patience is how long somebody waits while nothing changes.
type Patience struct {
	Slow   time.Duration // for what its controller works on
	Broken time.Duration // for what its controller has given up, and will try again
}

// Usual is for everything that people wait for.
var Usual = Patience{Slow: 10 * time.Minute, Broken: 3 * time.Minute}

// A Judge says why an object is not as it is to be; nothing if it is. broken means that its controller has given up.
type Judge func(now *unstructured.Unstructured) (why string, broken bool)

// current judges objects of Kubernetes' own kinds.
func current(now *unstructured.Unstructured) (why string, broken bool) {
	result, err := status.Compute(now)
	switch {
	case err != nil:
		return err.Error(), true
	case result.Status == status.CurrentStatus:
		return "", false
	}
	return result.Message, result.Status == status.FailedStatus
}

// Ready judges objects of Flux.
func Ready(now *unstructured.Unstructured) (why string, broken bool) {
	s := flux.StatusOf(*now)
	switch s.Ready {
	case flux.Yes, flux.Silent:
		return "", false
	case flux.No:
		return s.Reason + ": " + s.Message, s.Reason != "DependencyNotReady" // its controller waits, too
	}
	return s.Reason, false
}

// Await waits for an object. It fails if the reason has been the same for too long. again is the call that goes on.
func Await(ctx context.Context, c *kubernetes.Cluster, p Patience, again string, o *unstructured.Unstructured, ready Judge) error {
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
		limit := p.Slow
		if broken {
			limit = p.Broken
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
	shown := printable.Shorten(strings.Join(strings.Fields(redact.New(values...).String(reason)), " "), LongestMessage)
	return fault.New(fault.Unreachable, "dagger call flux status --env="+c.Env, "%s is not ready: %s", name, printable.Terminal(shown))
}

// LongestMessage is what is shown of a controller's message: its first sentences. All of it: kubectl describe.
const LongestMessage = 300
