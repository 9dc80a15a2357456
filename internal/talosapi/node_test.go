//go:build nodes

package talosapi_test

import (
	"os"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
	"slipway/internal/must"
	"slipway/internal/talos"
	"slipway/internal/testkit/machines"
)

// A real node keeps the promises that the simulated machines keep. It is the last control plane of `make cluster`,
// switched on with an empty disk, and has a cluster of its own.
func TestContractOfNode(t *testing.T) {
	const environment, address = "cluster-local", "198.18.87.19"
	spec, _, err := cluster.Load(os.DirFS("../.."), environment)
	must.Do(t, err)
	spec.Endpoint = "https://" + address + ":6443"
	spec.Nodes = []cluster.Node{{Name: "cp-9", Address: address, Role: cluster.ControlPlane, Disk: "/dev/vda"}}
	contract, err := talos.Contract(spec.Talos)
	must.Do(t, err)
	bundle, err := secrets.NewBundle(secrets.NewClock(), contract)
	must.Do(t, err)
	var patches [][]byte
	for _, name := range spec.PatchesOf(spec.Nodes[0]) {
		patch, err := os.ReadFile("../../environments/" + environment + "/" + name)
		must.Do(t, err)
		patches = append(patches, patch)
	}
	machines.Contract(t, spec, bundle, patches...)
}
