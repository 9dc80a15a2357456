// Package machines starts simulated Talos machines for a test.
package machines

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"slipway/dev/cloudsim/talos"
	"slipway/internal/must"
)

// Start starts n machines without a configuration, with this version of Talos. Their addresses are of the
// machine's own loopback network, and no other test has them.
func Start(t *testing.T, n int, version string) (cluster *talos.Cluster, addresses []string) {
	t.Helper()
	for block := range 200 * 250 {
		cluster = talos.New()
		addresses = nil
		for i := range n {
			address := fmt.Sprintf("127.%d.%d.%d", 20+block/250, 1+block%250, 11+i)
			_, err := cluster.Add(address, version)
			if errors.Is(err, syscall.EADDRINUSE) {
				break
			}
			must.Do(t, err)
			addresses = append(addresses, address)
		}
		if len(addresses) == n {
			t.Cleanup(cluster.Close)
			return cluster, addresses
		}
		cluster.Close()
	}
	t.Fatal("every address is in use")
	return nil, nil
}
