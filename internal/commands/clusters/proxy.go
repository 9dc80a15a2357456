package clusters

import (
	"context"
	"net"
	"net/url"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/constants"

	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/proxy"
)

// openProxy starts a proxy to the nodes and to the API server, for tools that cannot go the way that environment.yaml
// names under ssh. Without one, tools reach the cluster directly: it returns nil.
func openProxy(ctx context.Context, c *clusters.Cluster) (*proxy.Proxy, error) {
	if c.Environment.SSH == nil {
		return nil, nil
	}
	access, err := c.Access(ctx)
	if err != nil {
		return nil, err
	}
	addresses, err := addressesOf(c.Spec)
	if err != nil {
		return nil, err
	}
	return proxy.Start(ctx, addresses, access.Dial)
}

// addressesOf lists where tools may go: to Talos' API and the API server of each node, and to the endpoint.
func addressesOf(spec *cluster.Cluster) ([]string, error) {
	endpoint, err := url.Parse(spec.Endpoint)
	if err != nil {
		return nil, err
	}
	list := []string{endpoint.Host} // cluster.yaml has to name its port
	for _, n := range spec.Nodes {
		for _, port := range []int{constants.ApidPort, constants.DefaultControlPlanePort} {
			list = append(list, net.JoinHostPort(n.Address, strconv.Itoa(port)))
		}
	}
	return list, nil
}
