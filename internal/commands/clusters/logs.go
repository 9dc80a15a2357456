package clusters

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/talosapi"
)

// Logs shows the last lines that a service on a node has logged.
func Logs() run.Command {
	var node, service string
	var lines int
	return run.Command{
		Name: "cluster-logs", Help: "show the last lines that a service on a node has logged",
		Opens: run.State,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&node, "node", "", "name of the node")
			f.StringVar(&service, "service", "", "name of the service, such as etcd or kubelet")
			f.IntVar(&lines, "lines", 100, "number of lines")
		},
		Run: func(ctx context.Context, r *run.Run) error {
			c, access, err := clusters.Reach(ctx, r)
			if err != nil {
				return err
			}
			return showLogs(ctx, c, access, node, service, lines)
		},
	}
}

func showLogs(ctx context.Context, c *clusters.Cluster, access *talosapi.Access, node, service string, lines int) error {
	if lines < 1 {
		return fault.Refuse("--lines=100", "--lines is %d, want at least 1", lines)
	}
	n, err := nodeNamed(c, node)
	if err != nil {
		return err
	}
	again := "dagger call cluster status --env=" + c.Env
	services, err := access.Services(ctx, n.Address)
	if err != nil {
		return fault.New(fault.Unreachable, again, "%s did not list its services: %v", n.Name, err)
	}
	if !slices.Contains(services, service) {
		slices.Sort(services)
		return fault.Refuse("the services of "+n.Name+" are "+strings.Join(services, ", "), "%s has no service %q", n.Name, service)
	}
	text, err := access.Logs(ctx, n.Address, service, lines)
	if err != nil {
		return fault.New(fault.Unreachable, again, "%s did not show the log of %s: %v", n.Name, service, err)
	}
	fmt.Fprintf(&c.Report, "%s: %s\n", n.Name, service)
	c.Complaints.WriteString(printable.Log(text)) // not in the summary, which is kept: who knows what a service logs
	return nil
}
