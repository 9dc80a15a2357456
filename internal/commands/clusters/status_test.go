package clusters

import (
	"regexp"
	"strings"
	"testing"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/clusters"
	"slipway/internal/must"
	"slipway/internal/testkit"
	"slipway/internal/testkit/machines"
)

// opened is a cluster of simulated machines, as a command opens it.
func openedCluster(t *testing.T, controls int) (*machines.Cluster, *clusters.Cluster, *testkit.Vault) {
	t.Helper()
	m := machines.New(t, controls, "v1.14.1")
	v := withCluster(t)
	return m, &clusters.Cluster{Run: v.Run, Spec: m.Spec, Secrets: m.Bundle}, v
}

var (
	address = regexp.MustCompile(`127\.\d+\.\d+\.`)
	date    = regexp.MustCompile(`until \d{4}-\d\d-\d\d`)
	spaces  = regexp.MustCompile(` +`)
)

// status returns the table, with one space between its columns.
func status(t *testing.T, m *machines.Cluster, c *clusters.Cluster) (text string, healthy error) {
	t.Helper()
	s, err := c.Observe(t.Context(), m.Access)
	must.Do(t, err)
	fresh := testkit.New(t)
	c.Run = fresh.Run
	must.Do(t, showStatus(c, s))
	healthy = c.CheckHealth(s)
	text = c.Report.Masked(func(s string) string { return s })
	text = date.ReplaceAllString(address.ReplaceAllString(text, "127.x."), "until DATE")
	return spaces.ReplaceAllString(text, " "), healthy
}

// Every state of a node has its word, and health says what is wrong first.
func TestStatus(t *testing.T) {
	m, c, _ := openedCluster(t, 3)
	text, err := status(t, m, c)
	must.Fail(t, err, "a is maintenance")
	if want := "a controlplane - 127.x.11 - maintenance no none -\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	m.Configure()
	text, err = status(t, m, c)
	must.Hint(t, err, "dagger call cluster logs --env=test --node=a --service=etcd")
	must.Fail(t, err, "etcd is not known to have begun on any control plane")
	if want := "b controlplane - 127.x.12 v1.14.1 not ready (services: etcd not running) not begun as wanted until DATE\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	must.Do(t, m.Bootstrap("a"))
	m.Machine("b").Lead()
	text, err = status(t, m, c)
	must.Do(t, err)
	want := `NODE ROLE ZONE ADDRESS TALOS STATE ETCD CONFIG CERTIFICATE
a controlplane - 127.x.11 v1.14.1 ready member as wanted until DATE
b controlplane - 127.x.12 v1.14.1 ready leader as wanted until DATE
c controlplane - 127.x.13 v1.14.1 ready member as wanted until DATE
w worker - 127.x.14 v1.14.1 ready - as wanted until DATE
`
	if text != want {
		t.Errorf("got\n%s", text)
	}
	m.Machine("c").Set(sim.Faults{Labels: map[string]string{"tuppr.home-operations.com/upgrading": "true"}})
	text, err = status(t, m, c)
	must.Do(t, err)
	if want := "c controlplane - 127.x.13 v1.14.1 ready, owned by tuppr member as wanted until DATE\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	for name, f := range map[string]struct {
		faults       sim.Faults
		row, message string
	}{
		"silent":      {sim.Faults{Silent: true}, "c controlplane - 127.x.13 - silent (it cannot be reached) unknown unknown -\n", "c is silent (it cannot be reached)"},
		"mute":        {sim.Faults{Mute: true}, "v1.14.1 ready unknown as wanted", "it is not known which members of etcd c sees"},
		"an alarm":    {sim.Faults{Alarm: "NOSPACE"}, "v1.14.1 ready alarm NOSPACE as wanted", "etcd has the alarm NOSPACE on c"},
		"out of date": {sim.Faults{Stale: true}, "v1.14.1 ready", "c is still a learner of etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			m.Machine("c").Set(f.faults)
			defer m.Machine("c").Set(sim.Faults{})
			text, err := status(t, m, c)
			must.Fail(t, err, f.message)
			if !strings.Contains(text, f.row) {
				t.Errorf("no %q in\n%s", f.row, text)
			}
		})
	}
}

// A log is shown as it is, without secrets; what is not there is named.
func TestLogs(t *testing.T) {
	m, c, v := openedCluster(t, 1)
	m.Configure()
	must.Do(t, showLogs(t.Context(), c, m.Access, "a", "etcd", 10))
	if text := v.Complaints.String(); text != "etcd: first line\netcd: second line\n" {
		t.Errorf("on the console: %q", text)
	}
	if text := v.Report.Masked(func(s string) string { return s }); text != "a: etcd\n" {
		t.Errorf("in the summary, which is kept: %q", text)
	}
	must.Refuse(t, showLogs(t.Context(), c, m.Access, "b", "etcd", 10), `cluster home has no node "b"`, "the nodes of test are a, w")
	must.Refuse(t, showLogs(t.Context(), c, m.Access, "w", "etcd", 10), `w has no service "etcd"`, "the services of w are apid, containerd, cri, kubelet, machined")
	must.Refuse(t, showLogs(t.Context(), c, m.Access, "w", "cri", 0), "--lines is 0", "--lines=100")
	m.Machine("w").Set(sim.Faults{Silent: true})
	must.Hint(t, showLogs(t.Context(), c, m.Access, "w", "cri", 10), "dagger call cluster status --env=test")
}
