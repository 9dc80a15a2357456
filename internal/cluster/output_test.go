package cluster

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/fstest"

	"slipway/internal/must"
)

// fromLayers is a cluster whose file names no nodes.
func fromLayers() *Cluster {
	return &Cluster{Environment: "test", Name: "home", Talos: "v1.14.1", Network: "10.0.0.0/24", Controls: &Group{Disk: "/dev/sda"}}
}

// Nodes of outputs get the defaults of their role and are held to the same rules as those of the file.
func TestNodesOfOutputs(t *testing.T) {
	c := fromLayers()
	must.Do(t, c.AddNodes("net", json.RawMessage(`[{"name":"a","address":"10.0.0.11","role":"controlplane","zone":"par"}]`)))
	must.Do(t, c.AddNodes("more", json.RawMessage(`[{"name":"w","address":"10.0.0.21","role":"worker","disk":"/dev/vda"}]`)))
	warnings, err := c.Complete(fstest.MapFS{})
	must.Do(t, err)
	want := []Node{{Name: "a", Address: "10.0.0.11", Role: ControlPlane, Disk: "/dev/sda", Zone: "par"}, {Name: "w", Address: "10.0.0.21", Role: Worker, Disk: "/dev/vda"}}
	if len(warnings) > 0 || !slices.EqualFunc(c.Nodes, want, func(a, b Node) bool {
		return a.Name == b.Name && a.Address == b.Address && a.Role == b.Role && a.Disk == b.Disk && a.Zone == b.Zone
	}) {
		t.Errorf("%+v, %q", c.Nodes, warnings)
	}
}

func TestNodesOfOutputsRefuses(t *testing.T) {
	for name, c := range map[string]struct{ output, message, hint string }{
		"no list":        {`{"a": 1}`, "the output talos_nodes of net: nodes is keys and values, want a list", "write a list"},
		"an unknown key": {`[{"nam": "a"}]`, `the output talos_nodes of net: unknown key "nam" in nodes[0]`, `did you mean "name"?`},
		"a secret":       {`[{"token": "canary"}]`, `the output talos_nodes of net: unknown key "token" in nodes[0]`, "--file=credentials/test.enc.env"},
		"a bad address":  {`[{"name":"a","address":"10.0.0","role":"controlplane"}]`, `the output talos_nodes: the address of a is "10.0.0", which is not an IP address`, "dagger call cluster config --env=test"},
		"no patch": {`[{"name":"a","address":"10.0.0.11","role":"controlplane","patches":["x.yaml"]}]`,
			`the output talos_nodes: the patch "x.yaml" has no file environments/test/x.yaml`, "$EDITOR environments/test/x.yaml"},
		"two control planes": {`[{"name":"a","address":"10.0.0.11","role":"controlplane"},{"name":"b","address":"10.0.0.12","role":"controlplane"}]`,
			"the output talos_nodes: the cluster has 2 control planes", "add or remove one"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fromLayers()
			err := cluster.AddNodes("net", json.RawMessage(c.output))
			if err == nil {
				_, err = cluster.Complete(fstest.MapFS{})
			}
			must.Refuse(t, err, c.message, c.hint)
		})
	}
	_, err := fromLayers().Complete(fstest.MapFS{})
	must.Refuse(t, err, "the cluster home has no nodes: cluster.yaml names none, and no layer has an output talos_nodes", "dagger call apply --env=test")
}
