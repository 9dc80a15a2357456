package clusters

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machine "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/cluster"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/rollout"
	"slipway/internal/state"
	"slipway/internal/talos"
	"slipway/internal/talosapi"
	"slipway/internal/testkit"
)

// said is the cluster of matching, and what its nodes say, after a change.
func said(t *testing.T, change func(*judgement)) (*Cluster, State) {
	c, s, _ := saidAt(t, change)
	return c, s
}

// saidAt is said, and the desk with its store.
func saidAt(t *testing.T, change func(*judgement)) (*Cluster, State, *testkit.Desk) {
	t.Helper()
	j := matching()
	for i := range j.spec.Nodes {
		j.says(j.spec.Nodes[i].Name, func(o *talosapi.Observation) { o.Ready = true })
		j.spec.Nodes[i].Disk = "/dev/sda"
	}
	j.spec.Kubernetes, j.spec.Endpoint = "v1.34.1", "https://10.0.0.10:6443"
	j.spec.Pods, j.spec.Services = []string{"10.244.0.0/16"}, []string{"10.96.0.0/12"}
	change(j)
	desk := testkit.New(t)
	desk.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
	return &Cluster{Run: desk.Run, Spec: j.spec}, j.said, desk
}

// secret makes the secrets of machines.
func secret(t *testing.T) *machine.Bundle {
	t.Helper()
	contract, err := talos.Contract("v1.14.1")
	must.Do(t, err)
	bundle, err := machine.NewBundle(machine.NewClock(), contract, machine.WithECDSAServiceAccountKey())
	must.Do(t, err)
	return bundle
}

// A node that is not ready is named with its state, and a cluster without a node that is not, with what etcd lacks.
func TestCheckHealth(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(*talosapi.Observation)
		message, hint string
	}{
		"healthy": {func(*talosapi.Observation) {}, "", ""},
		"silent":  {func(o *talosapi.Observation) { *o = talosapi.Observation{API: rollout.Silent, Why: "it is away"} }, "b is silent (it is away)", "--node=b --service=kubelet"},
		"new": {func(o *talosapi.Observation) {
			*o = talosapi.Observation{API: rollout.Maintenance, Stage: "maintenance"}
		}, "b is maintenance", "--node=b --service=kubelet"},
		"busy, and ready":   {func(o *talosapi.Observation) { o.Busy, o.Stage = true, "upgrading" }, "b is upgrading", "--node=b --service=kubelet"},
		"not ready":         {func(o *talosapi.Observation) { o.Ready, o.Unmet = false, "services: cri" }, "b is not ready (services: cri)", "--node=b --service=kubelet"},
		"without etcd":      {func(o *talosapi.Observation) { o.Ready, o.Etcd = false, rollout.View{Known: true, Empty: true} }, "b has not joined etcd yet", "--node=a --service=etcd"},
		"with another view": {func(o *talosapi.Observation) { o.Etcd.Leader = 2 }, "a and b see different leaders of etcd", "--node=a --service=etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, s := said(t, func(j *judgement) { j.says("b", c.change) })
			err := cluster.CheckHealth(s)
			if c.message == "" {
				must.Do(t, err)
				return
			}
			must.Fail(t, err, c.message)
			must.Hint(t, err, "dagger call cluster logs --env=test "+c.hint)
		})
	}
}

func TestStateOf(t *testing.T) {
	for want, o := range map[string]talosapi.Observation{
		"silent (it is away)":   {API: rollout.Silent, Why: "it is away"},
		"stranger (who is it)":  {API: rollout.Stranger, Why: "who is it"},
		"maintenance":           {API: rollout.Maintenance, Stage: "maintenance"},
		"-":                     {API: rollout.Maintenance},
		"booting":               {API: rollout.Configured, Stage: "booting", Busy: true, Ready: true},
		"ready":                 {API: rollout.Configured, Stage: "running", Ready: true, Unmet: "canary"},
		"not ready (etcd: why)": {API: rollout.Configured, Stage: "running", Unmet: "etcd: why"},
	} {
		if got := StateOf(o); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A configuration is known to be the wanted one, or another, or unknown.
func TestSituation(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*judgement)
		want   rollout.Config
	}{
		"the wanted one":                 {func(*judgement) {}, rollout.Same},
		"another":                        {func(j *judgement) { j.said.Changes["b"] = []talos.Change{{Sign: "~", Place: sysctl}} }, rollout.Differs},
		"another one for its next start": {func(j *judgement) { j.says("b", func(o *talosapi.Observation) { o.Staged = true }) }, rollout.Differs},
		"none":                           {func(j *judgement) { j.new("b") }, rollout.Differs},
		"unread":                         {func(j *judgement) { delete(j.said.Changes, "b") }, rollout.Unread},
		"unread, and another for next start": {func(j *judgement) {
			j.says("b", func(o *talosapi.Observation) { o.Staged = true })
			delete(j.said.Changes, "b")
		}, rollout.Unread},
	} {
		cluster, s := said(t, c.change)
		n := cluster.Situation(s, nil).Nodes[1]
		if n.Name != "b" || n.Config != c.want || !n.Control {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

// A plan has the answers of the nodes, and the record of those that say nothing.
func TestPlanFrom(t *testing.T) {
	env := talos.Change{Sign: "-", Place: talos.Place{Path: []string{"machine", "env", "A"}}, Old: "old"}
	c, s := said(t, func(j *judgement) {
		j.says("a", func(o *talosapi.Observation) { o.Version = "v1.13.0" })
		j.said.Changes["a"] = []talos.Change{env}
		j.new("b")
		j.silent("w")
	})
	last := record{Run: "one", Ended: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), Nodes: map[string]recorded{"b": {Talos: "v1.14.1"}, "w": {Talos: "v1.14.1"}}}
	const silent = "w could not be asked (it cannot be reached): it may differ from the record of the last apply"
	for _, want := range []string{"", silent} {
		p, err := c.planFrom(last, s)
		must.Do(t, err)
		if !p.Nodes[0].Restarts || p.Nodes[0].First || !p.Nodes[1].First || p.Nodes[2].First || p.Nodes[2].Restarts || len(p.Nodes[2].Changes) == 0 {
			t.Errorf("%+v", p.Nodes)
		}
		if got := strings.Join(p.Silent, "\n"); got != want {
			t.Errorf("it warns %q, not %q", got, want)
		}
		c.Secrets = secret(t)
		changes := []plan.Change{
			{Address: "b", Action: plan.Create, Values: []plan.Value{{Path: "role", New: "controlplane"}, {Path: "address", New: "10.0.0.11"}, {Path: "disk", New: "/dev/sda"}}},
			{Address: "a", Action: plan.Update, Restarts: true, Attributes: []string{"machine"}, Values: []plan.Value{{Path: "machine.env.A", Removed: []string{"old"}}}},
		}
		if d := cmp.Diff(changes, p.Summary().Changes[:2]); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	// A node whose first configuration has settings is created, and not changed.
	p := Plan{Nodes: []NodePlan{{Node: cluster.Node{Name: "a"}, First: true, Changes: []talos.Change{env}}}}
	if all := p.Summary().Changes; len(all) != 1 || all[0].Action != plan.Create {
		t.Errorf("%+v", all)
	}
}

// Records are read by other versions of Slipway: their keys stay as they are.
func TestDerived(t *testing.T) {
	if key := derived("passphrase"); key != "467fa5fbedfd861a0bc65850748057c405ada1755cd9b88811d5b100a246bfc2" || identity(key) != "b69492d94aa40fd6" {
		t.Errorf("%s, %s", key, identity(key))
	}
	c, _ := said(t, func(*judgement) {})
	if c.keyCalled(identity(derived(testkit.Passphrase))) == "" || c.keyCalled(identity(derived(""))) != "" {
		t.Error("a passphrase that is not there has a key")
	}
}

// A record keeps what is known of a node that says nothing now, as long as it is under the same key.
func TestRemember(t *testing.T) {
	c, s, desk := saidAt(t, func(j *judgement) { j.silent("w") })
	c.Secrets = secret(t)
	has := func(name string) {
		t.Helper()
		provider, err := c.Config(c.Spec.Nodes[slices.IndexFunc(c.Spec.Nodes, func(n cluster.Node) bool { return n.Name == name })])
		must.Do(t, err)
		s.Nodes[name] = talosapi.Observation{API: rollout.Configured, Version: "v1.14.1", Config: provider}
	}
	expect := func(want ...string) {
		t.Helper()
		c.remember(t.Context(), s)
		last, err := c.readRecord(t.Context())
		must.Do(t, err)
		var names []string
		for _, n := range c.Spec.Nodes {
			if r, there := last.Nodes[n.Name]; there {
				names = append(names, fmt.Sprint(n.Name, " ", r.Talos, " ", len(r.Settings) > 20))
			}
		}
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("on record are (-want +got):\n%s", d)
		}
	}
	has("a")
	has("b")
	expect("a v1.14.1 true", "b v1.14.1 true")
	s.Nodes["b"] = talosapi.Observation{API: rollout.Silent}
	expect("a v1.14.1 true", "b v1.14.1 true")
	c.Credentials = map[string]string{state.Passphrase: "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4", state.PreviousPassphrase: testkit.Passphrase}
	expect("a v1.14.1 true")
	if says := fmt.Sprint(desk.Stderr); says != "" {
		t.Errorf("it says %q", says)
	}
	desk.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusForbidden)
		}
		return r.Method == http.MethodPut
	}
	expect("a v1.14.1 true")
	if says := fmt.Sprint(desk.Stderr); !strings.Contains(says, "note: this apply could not be recorded") {
		t.Errorf("it says %q", says)
	}
}

// What has moved since a node was planned is refused, and nothing else: it may be as it is to be already.
func TestReviewedNodes(t *testing.T) {
	const again = "dagger call plan --env=test"
	other := talos.Place{Path: []string{"machine", "sysctls", "other"}}
	swap := talos.Change{Sign: "~", Place: sysctl, Old: "10", New: "20", Was: "digest of 10"}
	for name, c := range map[string]struct {
		planned sealedNode
		change  func(*judgement)
		message string
	}{
		"as planned":                       {sealedNode{Changes: []talos.Change{swap}}, func(j *judgement) { j.said.Changes["a"] = []talos.Change{swap} }, ""},
		"as it is to be":                   {sealedNode{Changes: []talos.Change{swap}}, func(*judgement) {}, ""},
		"its first, as planned":            {sealedNode{First: true}, func(j *judgement) { j.new("a") }, ""},
		"its first, and as it is to be":    {sealedNode{First: true}, func(*judgement) {}, ""},
		"its first, and it has another":    {sealedNode{First: true}, func(j *judgement) { j.said.Changes["a"] = []talos.Change{swap} }, "a has a configuration, and had none when it was planned"},
		"it has lost its disk":             {sealedNode{}, func(j *judgement) { j.new("a") }, "a has no configuration, and had one when it was planned"},
		"it is silent":                     {sealedNode{First: true}, func(j *judgement) { j.silent("a") }, ""},
		"another value":                    {sealedNode{Changes: []talos.Change{{Sign: "~", Place: sysctl, Was: "digest of 5"}}}, func(j *judgement) { j.said.Changes["a"] = []talos.Change{swap} }, "its machine.sysctls.vm.swappiness is now 10"},
		"it was to be removed":             {sealedNode{Changes: []talos.Change{{Sign: "-", Place: sysctl, Was: swap.Was}}}, func(j *judgement) { j.said.Changes["a"] = []talos.Change{swap} }, "its machine.sysctls.vm.swappiness is now 10"},
		"another one was not there":        {sealedNode{Changes: []talos.Change{{Sign: "+", Place: other}}}, func(j *judgement) { j.said.Changes["a"] = []talos.Change{{Sign: "+", Place: sysctl, New: "20"}} }, "its machine.sysctls.vm.swappiness is now missing"},
		"a hidden one, with another value": {sealedNode{}, func(j *judgement) { j.said.Changes["a"] = []talos.Change{{Sign: "~", Place: sysctl, Was: "digest"}} }, "its machine.sysctls.vm.swappiness now has another value"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, s := said(t, c.change)
			err := (&Reviewed{map[string]sealedNode{"a": c.planned, "b": {}, "w": {}}, again}).refuse(cluster, s)
			if c.message == "" {
				must.Do(t, err)
				return
			}
			must.Refuse(t, err, c.message, again)
		})
	}
}

// While a rollout waits, it says once for what, and why the node does not answer.
func TestBecause(t *testing.T) {
	c, s, desk := saidAt(t, func(j *judgement) { j.silent("b"); j.new("w") })
	o := &Rollout{Cluster: c}
	for reason, want := range map[string]string{
		"b does not answer": " (it cannot be reached)", "c has to wait: b does not answer": " (it cannot be reached)",
		"b is busy": "", "w does not answer": "", "a does not answer": "",
	} {
		if got := o.because(s, reason); got != want {
			t.Errorf("%s%s", reason, got)
		}
	}
	for _, reason := range []string{"one", "one", "another", "one"} {
		o.say("waiting: %s", reason)
	}
	if d := cmp.Diff("waiting: one\nwaiting: another\nwaiting: one\n", strings.ToLower(fmt.Sprint(desk.Stderr))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A report has one line for each node.
func TestShow(t *testing.T) {
	c, _, desk := saidAt(t, func(*judgement) {})
	o := &Rollout{Cluster: c}
	o.Show()
	o.row("a").Status = "configured"
	o.row("a").Status = "bootstrapped"
	row := o.row("b")
	row.Status, row.Changes = "changed", 1
	row = o.row("w")
	row.Status, row.Changes, row.Restarted = "changed", 2, true
	o.Show()
	want := "home: nothing to do\na: bootstrapped\nb: 1 setting changed\nw: 2 settings changed, and it was restarted\n"
	if d := cmp.Diff(want, desk.Text()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
