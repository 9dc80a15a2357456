// Package flux has the commands on Flux in a cluster.
package flux

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"slipway/internal/flux"
	"slipway/internal/kubernetes"
	"slipway/internal/printable"
	"slipway/internal/reconcile"
	"slipway/internal/redact"
	"slipway/internal/run"
)

// Status shows what the objects of Flux say of themselves.
func Status() run.Command {
	return run.Command{
		Name: "flux-status", Help: "show the objects of Flux in a cluster: what is not ready first, with its reason",
		Opens: run.State,
		Run:   showStatus,
	}
}

func showStatus(ctx context.Context, r *run.Run) error {
	c, err := kubernetes.Open(ctx, r)
	if err != nil {
		return err
	}
	var list []flux.Status
	err = r.Timed("ask the Kubernetes API", func() error {
		kinds, err := c.API.Kinds(ctx, flux.Groups)
		if err != nil {
			return c.Failed(ctx, err)
		}
		for _, k := range kinds {
			objects, err := c.API.List(ctx, k)
			if err != nil {
				return c.Failed(ctx, err)
			}
			for _, o := range objects {
				list = append(list, flux.StatusOf(o))
			}
		}
		return maskMessages(ctx, c, list)
	})
	if err != nil {
		return err
	}
	flux.Sort(list)
	return writeStatus(r, c.Spec.Name, list, time.Now())
}

// maskMessages masks what the Secrets of the cluster have in the messages that will be shown: controllers can quote it.
func maskMessages(ctx context.Context, c *kubernetes.Cluster, list []flux.Status) error {
	if !slices.ContainsFunc(list, func(s flux.Status) bool { return s.Ready == flux.No }) {
		return nil
	}
	values, err := c.API.SecretValues(ctx)
	if err != nil {
		return c.Failed(ctx, err)
	}
	mask := redact.New(values...) // only for messages: a Secret can have the name of a namespace, too
	for i := range list {
		list[i].Message = mask.String(list[i].Message)
	}
	return nil
}

func writeStatus(r *run.Run, cluster string, list []flux.Status, now time.Time) error {
	if len(list) == 0 {
		fmt.Fprintf(&r.Report, "%s has no objects of Flux\n", cluster)
		return nil
	}
	table := tabwriter.NewWriter(&r.Report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tNAME\tREVISION\tREADY\tSUSPENDED\tSINCE\tREASON")
	counts := map[flux.Ready]int{}
	suspended := 0
	for _, s := range list {
		counts[s.Ready]++
		stopped := "no"
		if s.Suspended {
			suspended++
			stopped = "yes"
		}
		reason := s.Reason
		if s.Ready == flux.No {
			reason += ": " + printable.Shorten(strings.Join(strings.Fields(s.Message), " "), reconcile.LongestMessage)
		}
		fmt.Fprintf(table, "%s\t%s/%s\t%s\t%s\t%s\t%s\t%s\n", s.Kind, s.Namespace, s.Name, dash(s.Revision), s.Ready, stopped, age(s.Since, now), dash(printable.Terminal(reason)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&r.Report, "\n%s: %d ready, %d not ready, %d waiting, %d suspended\n", cluster, counts[flux.Yes], counts[flux.No], counts[flux.Waiting], suspended)
	return nil
}

func age(since, now time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(since))
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return printable.Terminal(text)
}
