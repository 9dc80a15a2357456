package clusters

import (
	"context"
	"net"
	"net/url"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/constants"

	"slipway/internal/proxy"
)

// OpenProxy starts a proxy to the nodes and to the API server, for tools that cannot go the way that environment.yaml
// names under ssh. Without one, tools reach the cluster directly: it returns nil.
func (c *Cluster) OpenProxy(ctx context.Context) (*proxy.Proxy, error) {
	if c.Environment.SSH == nil {
		return nil, nil
	}
	access, err := c.Access(ctx)
	if err != nil {
		return nil, err
	}
	addresses, err := c.addresses()
	if err != nil {
		return nil, err
	}
	return proxy.Start(ctx, addresses, access.Dial)
}

// addresses lists where tools may go: to Talos' API and the API server of each node, and to the endpoint.
func (c *Cluster) addresses() ([]string, error) {
	endpoint, err := url.Parse(c.Spec.Endpoint)
	if err != nil {
		return nil, err
	}
	list := []string{endpoint.Host} // cluster.yaml has to name its port
	for _, n := range c.Spec.Nodes {
		for _, port := range []int{constants.ApidPort, constants.DefaultControlPlanePort} {
			list = append(list, net.JoinHostPort(n.Address, strconv.Itoa(port)))
		}
	}
	return list, nil
}
