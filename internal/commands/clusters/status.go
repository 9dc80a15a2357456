package clusters

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/printable"
	"slipway/internal/rollout"
	"slipway/internal/run"
	"slipway/internal/talosapi"
)

// Status shows what the nodes of a cluster say of themselves.
func Status() run.Command {
	return run.Command{
		Name: "cluster-status", Help: "show the nodes of a cluster and how they are",
		Opens: run.State,
		Run: func(ctx context.Context, r *run.Run) error {
			c, s, err := observed(ctx, r)
			if err != nil {
				return err
			}
			return showStatus(c, s)
		},
	}
}

// Health fails unless every node of a cluster is ready and etcd has all its members.
func Health() run.Command {
	return run.Command{
		Name: "cluster-health", Help: "check that each node of a cluster is ready, and that etcd has all its members",
		Opens: run.State,
		Run: func(ctx context.Context, r *run.Run) error {
			c, s, err := observed(ctx, r)
			if err != nil {
				return err
			}
			if err := showStatus(c, s); err != nil {
				return err
			}
			if err := c.CheckHealth(s); err != nil {
				return err
			}
			fmt.Fprintf(&c.Report, "%s is healthy\n", c.Spec.Name)
			return nil
		},
	}
}

func observed(ctx context.Context, r *run.Run) (*clusters.Cluster, clusters.State, error) {
	c, access, err := clusters.Reach(ctx, r)
	if err != nil {
		return nil, clusters.State{}, err
	}
	var s clusters.State
	err = r.Timed("ask the nodes", func() error {
		s, err = c.Observe(ctx, access)
		return err
	})
	return c, s, err
}

func showStatus(c *clusters.Cluster, s clusters.State) error {
	table := tabwriter.NewWriter(&c.Report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tROLE\tZONE\tADDRESS\tTALOS\tSTATE\tETCD\tCONFIG\tCERTIFICATE")
	for _, n := range c.Spec.Nodes {
		o := s.Nodes[n.Name]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.Name, n.Role, dash(n.Zone), n.Address, dash(printable.Terminal(o.Version)), clusters.StateOf(o)+ownerOf(o), etcdOf(n, o), configOf(n, s), expiry(o))
	}
	return table.Flush()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// ownerOf continues how a node is.
func ownerOf(o talosapi.Observation) string {
	if o.Owner == "" {
		return ""
	}
	return ", owned by " + o.Owner
}

func etcdOf(n cluster.Node, o talosapi.Observation) string {
	v := o.Etcd
	switch {
	case n.Role != cluster.ControlPlane:
		return "-"
	case o.API == rollout.Maintenance:
		return "no"
	case !v.Known:
		return "unknown"
	case v.Empty:
		return "not begun"
	case len(v.Alarms) > 0:
		return "alarm " + strings.Join(v.Alarms, ", ")
	case v.Self == v.Leader:
		return "leader"
	case slices.ContainsFunc(v.Members, func(m rollout.Member) bool { return m.ID == v.Self && m.Learner }):
		return "learner"
	}
	return "member"
}

func configOf(n cluster.Node, s clusters.State) string {
	changes, known := s.Changes[n.Name]
	switch {
	case s.Nodes[n.Name].API == rollout.Maintenance:
		return "none"
	case !known:
		return "unknown"
	case len(changes) > 0:
		return fmt.Sprintf("%d to change", len(changes))
	case s.Nodes[n.Name].Staged:
		return "another after a restart"
	}
	return "as wanted"
}

func expiry(o talosapi.Observation) string {
	if o.API != rollout.Configured {
		return "-"
	}
	return "until " + o.Expires.UTC().Format(time.DateOnly)
}
