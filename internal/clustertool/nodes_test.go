package clustertool

import (
	"strings"
	"testing"

	"slipway/internal/cluster"
	"slipway/internal/must"
)

var spec = &cluster.Cluster{Name: "home", Nodes: []cluster.Node{
	{Name: "cp-1", Address: "10.0.0.11"}, {Name: "cp-2", Address: "10.0.0.12"}, {Name: "worker-1", Address: "fd00::21"},
}}

// Names of nodes become addresses in every spelling of the flag. Other arguments stay as they are.
func TestAddresses(t *testing.T) {
	for call, want := range map[string]string{
		"-n cp-1 version":                      "-n 10.0.0.11 version",
		"version -ncp-1":                       "version -n10.0.0.11",
		"version -n=cp-1":                      "version -n=10.0.0.11",
		"version --nodes cp-1,cp-2":            "version --nodes 10.0.0.11,10.0.0.12",
		"version --nodes=cp-1,10.0.0.12":       "version --nodes=10.0.0.11,10.0.0.12",
		"version -n cp-1 -n worker-1":          "version -n 10.0.0.11 -n fd00::21",
		"version -n fd00:0::21":                "version -n fd00::21",
		"netstat -kn cp-1":                     "netstat -kn 10.0.0.11",
		"netstat -kncp-1":                      "netstat -kn10.0.0.11",
		"logs -fn cp-1 cp-2":                   "logs -fn 10.0.0.11 cp-2",
		"version -n":                           "version -n", // which talosctl refuses
		"reboot cp-1":                          "reboot cp-1",
		"health --control-plane-nodes=cp-1":    "health --control-plane-nodes=cp-1",
		"upgrade -i x/cp-1 -n cp-1 -- -n cp-1": "upgrade -i x/cp-1 -n 10.0.0.11 -- -n cp-1",
	} {
		c, err := parse(Talosctl, call)
		must.Do(t, err)
		got, err := c.WithAddresses(spec)
		if text := strings.Join(got.Args, " "); err != nil || text != want {
			t.Errorf("talosctl %s: got %s, %v", call, text, err)
		}
		if strings.Join(c.Args, " ") != call {
			t.Errorf("talosctl %s: it is now %q", call, c.Args)
		}
		if names := call != "reboot cp-1" && call != "health --control-plane-nodes=cp-1"; c.NamesNodes() != names {
			t.Errorf("talosctl %s: names nodes: %v", call, !names)
		}
	}
	for call, word := range map[string]string{
		"version -n cp-3": "cp-3", "version --nodes=cp-1,": "", "version -n 10.0.0.99": "10.0.0.99", "version -n 10.0.0.11:50000": "10.0.0.11:50000",
	} {
		c, err := parse(Talosctl, call)
		must.Do(t, err)
		_, err = c.WithAddresses(spec)
		must.Refuse(t, err, `cluster home has no node "`+word+`"`, "the nodes of test are cp-1 (10.0.0.11), cp-2 (10.0.0.12), worker-1 (fd00::21)")
	}
	// For kubectl, -n is a namespace.
	c, err := parse(Kubectl, "get pods -n cp-1")
	must.Do(t, err)
	if got, err := c.WithAddresses(spec); err != nil || strings.Join(got.Args, " ") != "get pods -n cp-1" || c.NamesNodes() {
		t.Errorf("kubectl: got %q, %v", got.Args, err)
	}
}
