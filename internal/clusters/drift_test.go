package clusters_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/drift"
	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/testkit/machines"
	"slipway/internal/tofu"
)

// questions are the calls that change nothing.
var questions = []string{"EtcdAlarmList", "EtcdMemberList", "EtcdStatus", "Get", "List", "Read", "ServiceList", "Version"}

// stored are the objects in the bucket.
func (s *site) stored(t *testing.T) map[string]string {
	t.Helper()
	objects, err := s.desk.Store.List(t.Context(), "")
	must.Do(t, err)
	texts := map[string]string{}
	for _, o := range objects {
		data, err := s.desk.Store.Read(t.Context(), o.Key)
		must.Do(t, err)
		texts[o.Key] = string(data)
	}
	return texts
}

// drift checks for drift, and returns what is found. The machines get questions only, and nothing is stored.
func (s *site) drift(t *testing.T, withSecrets bool, expected ...environment.Ignore) (string, error) {
	t.Helper()
	s.Sim.Calls = func(_, method string) error {
		if !slices.Contains(questions, path.Base(method)) {
			t.Errorf("it calls %s", method)
		}
		return nil
	}
	defer func() { s.Sim.Calls = nil }()
	before := s.stored(t)
	c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Listed: true}
	if withSecrets {
		c.Secrets = s.Bundle
	}
	found, err := c.Drift(t.Context(), expected, time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC))
	if d := cmp.Diff(before, s.stored(t)); d != "" {
		t.Errorf("in the bucket (-before +after):\n%s", d)
	}
	check := drift.Check{Cluster: found}
	return strings.Join(check.Lines(), "\n"), err
}

// expectDrift is drift that expects to find these lines and no failure.
func (s *site) expectDrift(t *testing.T, withSecrets bool, lines ...string) {
	t.Helper()
	got, err := s.drift(t, withSecrets)
	must.Do(t, err)
	if d := cmp.Diff(strings.Join(lines, "\n"), got); d != "" {
		t.Errorf("with secrets %v (-want +got):\n%s", withSecrets, d)
	}
}

// alone gives a configuration to one node, as somebody does with talosctl.
func (s *site) alone(t *testing.T, name, patch string) {
	t.Helper()
	s.patch(t, patch)
	s.give(t, s.Node(name))
}

const (
	tuned     = "machine: {sysctls: {vm.swappiness: \"10\"}, env: {A: canary-1}}\n"
	unsecured = "  cluster.yaml: the nodes were not asked, because the secrets of the machines need another key: "
)

// A change on a node is told apart from one in the files, by whoever can ask the nodes. Others only see the latter, and
// are told so.
func TestDrift(t *testing.T) {
	for _, talos := range []string{"v1.12.4", "v1.14.1"} {
		t.Run(talos, func(t *testing.T) {
			s := newSite(t, 1, talos)
			s.patch(t, tuned)
			create := []string{"~ cluster.yaml: a is not applied yet: create", "~ cluster.yaml: w is not applied yet: create"}
			s.expectDrift(t, true, create...)
			s.expectDrift(t, false, append(create, unsecured+"no apply is on record")...)

			must.Do(t, s.roll(every...).Do(t.Context()))
			s.expectDrift(t, true)
			got, err := s.drift(t, false)
			must.Do(t, err)
			note := unsecured + "compared with the record of run me+"
			if !strings.HasPrefix(got, note) {
				t.Errorf("it says %q", got)
			}

			s.alone(t, "w", "machine: {sysctls: {vm.swappiness: \"25\", kernel.panic: \"1\"}, env: {A: canary-2}}\n")
			s.patch(t, tuned)
			byHand := "! cluster.yaml: w was changed (machine.sysctls.vm.swappiness: 10 → 25, machine.sysctls.kernel.panic: +1, machine.env.A) on the node"
			if got, err := s.drift(t, true); err != nil || byOrder(got) != byOrder(byHand) {
				t.Errorf("%v\n got %s\nwant %s", err, got, byHand)
			}
			if got, err := s.drift(t, false); err != nil || !strings.HasPrefix(got, note) {
				t.Errorf("the record does not know: %v, %s", err, got)
			}

			s.patch(t, strings.Replace(tuned, "vm.swappiness: \"10\"", "vm.swappiness: \"10\", kernel.sysrq: \"0\"", 1))
			unapplied := []string{
				"~ cluster.yaml: a is not applied yet: update (machine.sysctls.kernel.sysrq: +0)",
				"~ cluster.yaml: w is not applied yet: update (machine.sysctls.kernel.sysrq: +0)",
			}
			if got, err := s.drift(t, true); err != nil || byOrder(got) != byOrder(byHand+"\n"+strings.Join(unapplied, "\n")) {
				t.Errorf("both: %v\n%s", err, got)
			}
			if got, err := s.drift(t, false); err != nil || !strings.HasPrefix(got, strings.Join(append(unapplied, note), "\n")) {
				t.Errorf("both, by the record: %v\n%s", err, got)
			}
			must.Do(t, s.roll(every...).Do(t.Context()))
			s.expectDrift(t, true)
		})
	}
}

// byOrder sorts the settings in a text: Talos writes them in another order in each version.
func byOrder(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("(),\n", r) })
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	slices.Sort(words)
	return strings.Join(words, "\n")
}

// A node that does not answer makes the check fail, whatever is found on the others.
func TestDriftSilent(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.patch(t, tuned)
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.alone(t, "a", strings.Replace(tuned, "10", "25", 1))
	s.patch(t, tuned)
	changed := "! cluster.yaml: a was changed (machine.sysctls.vm.swappiness: 10 → 25) on the node"
	s.Machine("w").Set(sim.Faults{Silent: true})
	got, err := s.drift(t, true)
	must.Fail(t, err, "not every node of home could be asked: w (it cannot be reached)")
	must.Hint(t, err, "dagger call cluster status --env=test")
	if got != changed {
		t.Errorf("it finds %s", got)
	}
	s.Machine("w").Set(sim.Faults{})
	s.Machine("a").Set(sim.Faults{Mute: true})
	_, err = s.drift(t, true)
	must.Fail(t, err, "not every node of home could be asked: a (its etcd did not answer)")
	s.Machine("a").Set(sim.Faults{})

	// The record is the only hint at what the silent node had.
	must.Do(t, s.desk.Store.Remove(t.Context(), "test/cluster.json"))
	s.Machine("w").Set(sim.Faults{Silent: true})
	got, err = s.drift(t, true)
	must.Fail(t, err, "not every node of home could be asked: w (it cannot be reached)")
	if got != "? cluster.yaml: a differs (machine.sysctls.vm.swappiness: 25 → 10), and no record says who changed it" {
		t.Errorf("it finds %s", got)
	}
}

// Machines of which something else than their configuration is wrong.
func TestDriftOfMachines(t *testing.T) {
	s := newSite(t, 3, "v1.14.1")
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.expectDrift(t, true)

	s.Machine("w").Version = "v1.14.2"
	s.Machine("w").Set(sim.Faults{})
	s.expectDrift(t, true, "! cluster.yaml: w was changed (talos: v1.14.1 → v1.14.2) on the node")
	s.Machine("w").Version = "v1.14.1"
	must.Do(t, s.Machine("w").Wipe())
	s.expectDrift(t, true, "! cluster.yaml: w has lost its configuration")

	all := slices.Clone(s.Spec.Nodes)
	other := machines.New(t, 1, "v1.14.1")
	other.Configure()
	s.Spec.Nodes = slices.Clone(all[:3])
	s.Spec.Nodes[2].Address = other.Node("a").Address
	s.expectDrift(t, true,
		"! cluster.yaml: another machine is at "+s.Spec.Nodes[2].Address+", the address of c: its certificate is not from this cluster's authority",
		"  cluster.yaml: w is no longer in cluster.yaml, and keeps its configuration")

	s.Spec.Nodes = slices.Clone(all[:2])
	s.expectDrift(t, true,
		"! cluster.yaml: etcd has the member c, which is not a control plane in cluster.yaml",
		"  cluster.yaml: c is no longer in cluster.yaml, and keeps its configuration",
		"  cluster.yaml: w is no longer in cluster.yaml, and keeps its configuration")
}

// An expected change is not drift, until the day after.
func TestDriftExpected(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.patch(t, tuned)
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.alone(t, "w", strings.Replace(tuned, "10", "25", 1))
	s.patch(t, tuned)
	ignore := environment.Ignore{Address: "w", Attributes: []string{"machine.sysctls.vm.swappiness"}, Until: "2026-11-21", Reason: "a test"}
	for until, want := range map[string]string{
		"2026-11-21": "  cluster.yaml: w has changed, as environment.yaml expects",
		"2026-11-20": "! cluster.yaml: w was changed (machine.sysctls.vm.swappiness: 10 → 25) on the node",
	} {
		ignore.Until = until
		if got, err := s.drift(t, true, ignore); err != nil || got != want {
			t.Errorf("until %s: %v, %s", until, err, got)
		}
	}
}

// A record that cannot be used is none for whoever asks the nodes, and the end for others.
func TestDriftOfAnotherRecord(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.patch(t, tuned)
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.desk.Credentials = map[string]string{state.Passphrase: "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"}
	const note = "  cluster.yaml: the record of the last apply cannot be used: it is unknown how the nodes are configured: their record was made under another passphrase of the state"
	s.expectDrift(t, true, note)
	s.alone(t, "w", strings.Replace(tuned, "10", "25", 1))
	s.patch(t, tuned)
	s.expectDrift(t, true, "? cluster.yaml: w differs (machine.sysctls.vm.swappiness: 25 → 10), and no record says who changed it", note)
	got, err := s.drift(t, false)
	must.Refuse(t, err, "their record was made under another passphrase of the state", "dagger call cluster plan --env=test")
	if got != "" {
		t.Errorf("it finds %s", got)
	}
	s.Machine("a").Set(sim.Faults{Silent: true})
	s.Machine("w").Set(sim.Faults{Silent: true})
	got, err = s.drift(t, true)
	must.Fail(t, err, "not every node of home could be asked: a (it cannot be reached), w (it cannot be reached)")
	if got != note {
		t.Errorf("of silent nodes, it finds %s", got)
	}
}

// A cluster whose nodes come from layers that are not applied is not applied either. Nodes of layers are checked.
func TestDriftOfLayers(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	all := s.Spec.Nodes
	s.Spec.Nodes = nil
	s.expectDrift(t, true, "~ cluster.yaml: home is not applied yet: create")
	s.Spec.Nodes = []cluster.Node{all[0], all[0]}
	c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle}
	if found, err := c.Drift(t.Context(), nil, time.Time{}); err == nil || found != nil || !strings.Contains(err.Error(), "two nodes are called a") {
		t.Errorf("it finds %+v, %v", found, err)
	}
}

// A cluster behind a bastion is checked through it. Without the way to it, it is unknown whether it has drifted, unless
// it was never applied.
func TestDriftBehindBastion(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	b, opened := s.behind(t)
	check := func(outputs tofu.Outputs) (*drift.Cluster, error) {
		return s.open(t, outputs).Drift(t.Context(), nil, time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC))
	}
	found, err := check(nil)
	must.Do(t, err)
	if len(found.Unapplied) != 2 {
		t.Errorf("without a bastion: %+v", found)
	}
	must.Do(t, s.through(t, b).Do(t.Context()))
	asked := opened.Load()
	found, err = check(b.Outputs(t))
	must.Do(t, err)
	if !found.Clean() || opened.Load() == asked {
		t.Errorf("%d connections are opened: %+v", opened.Load()-asked, found)
	}
	delete(s.desk.Credentials, secrets.OperatorKey)
	_, err = check(b.Outputs(t))
	must.Refuse(t, err, "the credentials of test have no SSH_PRIVATE_KEY", "--variable=SSH_PRIVATE_KEY")
}
