package talosapi

import (
	"context"
	"strings"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

const (
	// clusterAPI begins every annotation that Cluster API's machine controller puts on a node.
	clusterAPI = "cluster.x-k8s.io/"

	// upgrading is on a node as long as tuppr upgrades it.
	upgrading = "tuppr.home-operations.com/upgrading"
)

// owner returns the program that changes a machine with this configuration, "" if there is none.
func (a *Access) owner(ctx context.Context, c *client.Client, current config.Provider) (string, error) {
	if current != nil {
		if current.SideroLink() != nil {
			return "Omni", nil
		}
	}
	nodes, err := ask(ctx, a, func(ctx context.Context) (safe.List[*k8s.NodeStatus], error) {
		return safe.StateListAll[*k8s.NodeStatus](ctx, c.COSI)
	})
	if err != nil {
		return "", err
	}
	// A machine that is not a node of Kubernetes yet lists none. That is no owner: whoever marks nodes has not
	// seen it, either.
	for node := range nodes.All() {
		for name := range node.TypedSpec().Annotations {
			if strings.HasPrefix(name, clusterAPI) {
				return "Cluster API", nil
			}
		}
		if _, is := node.TypedSpec().Labels[upgrading]; is {
			return "tuppr", nil
		}
	}
	return "", nil
}
