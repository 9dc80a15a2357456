package clusters

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/fault"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/talos"
)

// Config shows the configurations of a cluster's nodes, setting by setting.
func Config() run.Command {
	var node string
	return run.Command{
		Name: "cluster-config", Help: "show the configuration of each node, with only those values that cannot be secret",
		Opens: run.State,
		Flags: func(f *flag.FlagSet) { f.StringVar(&node, "node", "", "only this node") },
		Run: func(ctx context.Context, r *run.Run) error {
			c, err := clusters.Open(ctx, r)
			if err != nil {
				return err
			}
			return showConfigs(c, node)
		},
	}
}

func showConfigs(c *clusters.Cluster, only string) error {
	if only != "" {
		n, err := nodeNamed(c, only)
		if err != nil {
			return err
		}
		return showConfig(c, n)
	}
	for _, n := range c.Spec.Nodes {
		if err := showConfig(c, n); err != nil {
			return err
		}
	}
	return nil
}

// nodeNamed returns the node of that name.
func nodeNamed(c *clusters.Cluster, name string) (cluster.Node, error) {
	var names []string
	for _, n := range c.Spec.Nodes {
		if n.Name == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return cluster.Node{}, fault.Refuse("the nodes of "+c.Env+" are "+strings.Join(names, ", "), "cluster %s has no node %q", c.Spec.Name, name)
}

func showConfig(c *clusters.Cluster, n cluster.Node) error {
	provider, err := c.Config(n)
	if err != nil {
		return err
	}
	settings, err := talos.Settings(provider)
	if err != nil {
		return err
	}
	fmt.Fprintf(&c.Report, "%s (%s, %s)\n", n.Name, n.Role, n.Address)
	c.Report.Add(func(mask func(string) string) string {
		var text strings.Builder
		for _, s := range settings {
			value := "(hidden)"
			if !s.Hidden {
				value = mask(printable.Terminal(s.Value))
			}
			fmt.Fprintf(&text, "  %s: %s\n", printable.Terminal(s.String()), value)
		}
		return text.String()
	})
	return nil
}
