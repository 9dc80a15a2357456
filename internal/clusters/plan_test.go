package clusters_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/rollout"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// planned makes a plan: by asking the nodes, or without the secrets of the machines.
func (s *site) planned(t *testing.T, withSecrets bool) *clusters.Plan {
	t.Helper()
	c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Listed: true}
	if withSecrets {
		c.Secrets = s.Bundle
	}
	p, err := c.Plan(t.Context())
	must.Do(t, err)
	return p
}

// same are the changes of a plan, of which the nodes and the record have to say the same.
func (s *site) same(t *testing.T) plan.Summary {
	t.Helper()
	asked, recorded := s.planned(t, true).Summary(), s.planned(t, false).Summary()
	if d := cmp.Diff(asked, recorded); d != "" {
		t.Errorf("(-by the nodes +by their record):\n%s", d)
	}
	return asked
}

// describe is a plan in a few words: a node and its action, a setting without its value, + for one with it.
func describe(s plan.Summary) string {
	var words []string
	for _, c := range s.Changes {
		words = append(words, c.Address+" "+string(c.Action))
		if c.Action == plan.Update {
			words = append(words, c.Attributes...)
			for _, v := range c.Values {
				words = append(words, "+"+v.Path)
			}
		}
		if c.Restarts {
			words = append(words, "restarts")
		}
	}
	return strings.Join(words, " ")
}

// A plan that is made of the record of the last apply is the one that the nodes would give, in each state of a
// cluster.
func TestPlan(t *testing.T) {
	for _, version := range []string{"v1.12.4", "v1.13.0", "v1.14.1"} {
		t.Run(version, func(t *testing.T) {
			s := newSite(t, 1, version)
			expect := func(want string) {
				t.Helper()
				if got := describe(s.same(t)); got != want {
					t.Errorf("the plan is %q, not %q", got, want)
				}
			}
			expect("a create w create")
			must.Do(t, s.roll(every...).Do(t.Context()))
			expect("")
			s.patch(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
			expect("a update machine +machine.sysctls.vm.swappiness w update machine +machine.sysctls.vm.swappiness")
			must.Do(t, s.roll(every...).Do(t.Context()))
			expect("")
			restarts := ""
			if version != "v1.14.1" {
				restarts = " restarts"
			}
			s.patch(t, "machine: {env: {HTTPS_PROXY: http://u:canary@proxy.example.org}}\n")
			hidden := "update machine machine.env.HTTPS_PROXY +machine.sysctls.vm.swappiness" + restarts
			got := describe(s.same(t))
			if want := "a " + hidden + " w " + hidden; got != want && got != strings.ReplaceAll(want, "machine machine.env.HTTPS_PROXY", "machine.env.HTTPS_PROXY machine") {
				t.Errorf("the plan is %q, not %q", got, want)
			}
			must.Do(t, s.roll(every...).Do(t.Context()))
			expect("")
			// A node that does not answer is compared with its record.
			s.Machine("w").Set(sim.Faults{Silent: true})
			s.Spec.Nodes[1].Disk, s.Spec.Patches = "/dev/sdb", nil
			s.same(t)
			p := s.planned(t, true)
			if !strings.Contains(p.Source, "w could not be asked: compared with the record of run me+") {
				t.Errorf("it says %q", p.Source)
			}
			if len(p.Silent) != 1 || !strings.HasPrefix(p.Silent[0], "w could not be asked (") {
				t.Errorf("it warns %q", p.Silent)
			}
			s.Machine("w").Set(sim.Faults{})
			s.Spec.Nodes = s.Spec.Nodes[:1]
			if p := s.planned(t, false); len(p.Left) != 1 || p.Left[0] != "w is no longer in cluster.yaml, and keeps its configuration" || len(p.Nodes) != 1 {
				t.Errorf("it leaves %q", p.Left)
			}
		})
	}
}

// What Slipway foresees of restarts is what the machines say.
func TestPlanRestarts(t *testing.T) {
	for version, patches := range map[string][]string{
		"v1.13.0": {
			"machine: {sysctls: {a: b}}", "machine: {env: {A: b}}", "machine: {certSANs: [a.example.org]}", "machine: {nodeLabels: {a: b}}", "machine: {sysfs: {a: b}}",
			"machine: {files: [{path: /var/a, permissions: 420, op: create, content: x}]}", "cluster: {allowSchedulingOnControlPlanes: true}",
			"apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\ntimeout: 2m\n", "machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}}}",
		},
		"v1.14.1": {"machine: {sysctls: {a: b}}", "machine: {env: {A: b}}"},
	} {
		s := newSite(t, 1, version)
		must.Do(t, s.roll(every...).Do(t.Context()))
		for _, patch := range patches {
			s.patch(t, patch+"\n")
			c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle}
			wanted, err := c.Config(s.Node("a"))
			must.Do(t, err)
			says, err := s.Access.Restarts(t.Context(), s.Node("a").Address, wanted)
			must.Do(t, err)
			if p := s.planned(t, false); p.Nodes[0].Restarts != says || len(p.Nodes[0].Changes) == 0 {
				t.Errorf("%s, %s: foreseen %v, and the machine says %v", version, patch, p.Nodes[0].Restarts, says)
			}
		}
	}
}

// A record that cannot be used is not taken for none, and holds no secret.
func TestRecord(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.desk.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
	s.patch(t, "machine: {env: {HTTPS_PROXY: http://u:canary@proxy.example.org}, sysctls: {a: canary-in-the-credentials}}\n")
	s.desk.Mask.Add("canary-in-the-credentials")
	must.Do(t, s.roll(every...).Do(t.Context()))
	const key = "test/cluster.json"
	data, err := s.desk.Store.Read(t.Context(), key)
	must.Do(t, err)
	for _, secret := range []string{"canary", s.Bundle.TrustdInfo.Token, s.Bundle.Cluster.Secret, testkit.Passphrase} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the record has %s", secret)
		}
	}
	if !json.Valid(data) || len(data) > 2*20_000 {
		t.Errorf("it has %d bytes", len(data))
	}
	t.Logf("%d bytes for two nodes", len(data))
	again := func() error {
		_, err := (&clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Listed: true}).Plan(t.Context())
		return err
	}
	must.Do(t, again())
	const other = "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"
	s.desk.Credentials = map[string]string{state.Passphrase: other, state.PreviousPassphrase: testkit.Passphrase}
	if got := describe(s.same(t)); got != "" {
		t.Errorf("after a new passphrase, the plan is %q", got)
	}
	s.desk.Credentials = map[string]string{state.Passphrase: other}
	must.Refuse(t, again(), "their record was made under another passphrase of the state", "dagger call cluster plan --env=test")
	if got := describe(s.planned(t, true).Summary()); got != "" { // the nodes themselves say it
		t.Errorf("the plan is %q", got)
	}
	must.Do(t, s.roll(every...).Do(t.Context()))
	must.Do(t, again())
	for _, text := range []string{"", "{}", `{"version":2}`, "[]"} {
		must.Do(t, s.desk.Store.Write(t.Context(), key, []byte(text)))
		must.Refuse(t, again(), "is not a record of this version", "dagger call cluster plan --env=test")
	}
}

// After a new passphrase of the state, a plan can be applied whoever made it. The record is then under that
// passphrase alone.
func TestReviewedAfterRotation(t *testing.T) {
	for _, withSecrets := range []bool{false, true} {
		s := newSite(t, 1, "v1.14.1")
		s.desk.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
		must.Do(t, s.roll(every...).Do(t.Context()))
		const other = "Tz8-2nQwR5yHk7VdGm3jXb9LcPs4"
		s.desk.Credentials = map[string]string{state.Passphrase: other, state.PreviousPassphrase: testkit.Passphrase}
		s.patch(t, "machine: {sysctls: {a: b}, certSANs: [a.example.org]}\n")
		p := s.planned(t, withSecrets)
		must.Do(t, s.review(t, p).Do(t.Context()))
		s.asWanted(t)
		s.desk.Credentials = map[string]string{state.Passphrase: other}
		if got := describe(s.same(t)); got != "" {
			t.Errorf("the plan is %q", got)
		}
	}
}

// review returns a rollout that carries out a plan, as it is sealed.
func (s *site) review(t *testing.T, p *clusters.Plan) *clusters.Rollout {
	t.Helper()
	data, err := p.Encode()
	must.Do(t, err)
	o := s.roll(rollout.Configure, rollout.Change)
	o.Reviewed, err = o.Review(data, "plan it again")
	must.Do(t, err)
	return o
}

// A rollout does what was planned, also if the plan was made without the secrets and a part of it was done before.
func TestReviewed(t *testing.T) {
	s := newSite(t, 3, "v1.13.0")
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.patch(t, "machine: {sysctls: {a: b}, env: {A: b}}\n")
	p := s.planned(t, false)
	s.desk.Result.Nodes = nil
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := s.review(t, p)
	o.Stderr = &watcher{"c has another configuration", stop}
	must.Fail(t, o.Do(ctx), "was interrupted")
	for range 2 {
		must.Do(t, s.review(t, p).Do(t.Context()))
		s.asWanted(t)
	}
}

// A node that is neither as it was when it was planned nor as it is to be is named, with the setting, and no
// node is changed.
func TestReviewedMoved(t *testing.T) {
	const before, wanted = "machine: {sysctls: {a: b, c: d}, env: {A: b}}\n", "machine: {sysctls: {a: x, c: d}, env: {A: x}}\n"
	for name, c := range map[string]struct {
		since   func(t *testing.T, s *site)
		message string // empty: it is applied
	}{
		"not at all":             {func(*testing.T, *site) {}, ""},
		"as it is to be":         {func(t *testing.T, s *site) { s.byHand(t, wanted) }, ""},
		"a planned setting":      {func(t *testing.T, s *site) { s.byHand(t, strings.Replace(before, "a: b", "a: y", 1)) }, "a has changed since it was planned: its machine.sysctls.a is now y"},
		"another setting":        {func(t *testing.T, s *site) { s.byHand(t, strings.Replace(before, "c: d", "c: y", 1)) }, "a has changed since it was planned: its machine.sysctls.c is now y"},
		"a hidden setting":       {func(t *testing.T, s *site) { s.byHand(t, strings.Replace(before, "A: b", "A: y", 1)) }, "a has changed since it was planned: its machine.env.A now has another value"},
		"a setting less":         {func(t *testing.T, s *site) { s.byHand(t, strings.Replace(before, ", c: d", "", 1)) }, "a has changed since it was planned: its machine.sysctls.c is now missing"},
		"a setting more":         {func(t *testing.T, s *site) { s.byHand(t, strings.Replace(before, "c: d", "c: d, e: f", 1)) }, "a has changed since it was planned: its machine.sysctls.e is now f"},
		"the whole node":         {func(t *testing.T, s *site) { must.Do(t, s.Machine("w").Wipe()) }, "w has no configuration, and had one when it was planned"},
		"a secret of the others": {func(_ *testing.T, s *site) { s.Bundle.TrustdInfo.Token = "abcdef.0123456789abcdef" }, "a has changed since it was planned: its machine.token now has another value"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 1, "v1.14.1")
			s.patch(t, before)
			must.Do(t, s.roll(every...).Do(t.Context()))
			s.patch(t, wanted)
			p := s.planned(t, false)
			s.patch(t, before)
			c.since(t, s)
			s.patch(t, wanted)
			s.desk.Result.Nodes = nil
			boots := s.Machine("a").Config()
			err := s.review(t, p).Do(t.Context())
			if c.message == "" {
				must.Do(t, err)
				s.asWanted(t)
				return
			}
			must.Refuse(t, err, c.message, "plan it again")
			if len(s.desk.Result.Nodes) > 0 || s.Machine("a").Config() != boots || s.desk.LockID() != "" {
				t.Errorf("it was begun: %+v, and the lock is %q", s.desk.Result.Nodes, s.desk.LockID())
			}
		})
	}
}

// byHand gives a configuration to every node, as somebody does without Slipway.
func (s *site) byHand(t *testing.T, patch string) {
	t.Helper()
	s.patch(t, patch)
	for _, n := range s.Spec.Nodes {
		s.give(t, n)
	}
}

// give gives its configuration to a node, and waits until it runs with it: Talos may restart after it has answered.
func (s *site) give(t *testing.T, n cluster.Node) {
	t.Helper()
	c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle}
	wanted, err := c.Config(n)
	must.Do(t, err)
	must.Do(t, s.Access.Change(t.Context(), n.Address, wanted))
	soon.Wait(t, n.Name+" runs with it", func() bool {
		state, err := c.Observe(t.Context(), s.Access)
		must.Do(t, err)
		changes, known := state.Changes[n.Name]
		return known && len(changes) == 0 && !state.Nodes[n.Name].Staged
	})
}

// A first configuration is for a machine without one. A node that the plan does not have is left alone.
func TestReviewedFirst(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	p := s.planned(t, false)
	s.Spec.Nodes = append(s.Spec.Nodes, cluster.Node{Name: "x", Address: "127.0.0.1", Role: cluster.Worker, Disk: "/dev/sda"})
	all := s.review(t, p)
	s.Spec.Nodes[2].Address = s.Spec.Nodes[1].Address // a machine that answers
	must.Refuse(t, all.Do(t.Context()), "x is not in the plan", "plan it again")
	s.Spec.Nodes = s.Spec.Nodes[:2]
	s.Configure()
	s.patch(t, "machine: {sysctls: {a: b}}\n")
	must.Refuse(t, s.review(t, p).Do(t.Context()), "a has a configuration, and had none when it was planned", "plan it again")
}

// A restart that is not in the plan is refused. A plan under another passphrase, or of another version, is too.
func TestReviewedRefuses(t *testing.T) {
	s := newSite(t, 1, "v1.13.0")
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.patch(t, "machine: {env: {A: b}}\n")
	p := s.planned(t, false)
	if !p.Nodes[0].Restarts {
		t.Error("a restart is not foreseen")
	}
	p.Nodes[0].Restarts = false
	must.Refuse(t, s.review(t, p).Do(t.Context()), "a says that it would restart, which is not in the plan", "plan it again")
	c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle}
	for text, message := range map[string]string{
		"":                            "the plan of the cluster is not of this version",
		`{"version":2}`:               "the plan of the cluster is not of this version",
		`{"version":1,"key":"other"}`: "the plan of the cluster was made under another passphrase",
	} {
		_, err := c.Review([]byte(text), "plan it again")
		must.Refuse(t, err, message, "plan it again")
	}
}

// The record is of this cluster's nodes only, and is gone when they are.
func TestForget(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	must.Do(t, s.roll(every...).Do(t.Context()))
	must.Do(t, clusters.Forget(t.Context(), s.desk.Run)) // without a cluster.yaml, it is not known whose it is
	if _, err := s.desk.Store.Read(t.Context(), "test/cluster.json"); err != nil {
		t.Errorf("it is gone: %v", err)
	}
	s.describes(t)
	must.Do(t, clusters.Forget(t.Context(), s.desk.Run))
	if objects, err := s.desk.Store.List(t.Context(), "test/cluster.json"); err != nil || len(objects) > 0 {
		t.Errorf("it is left: %v", err)
	}
	must.Do(t, clusters.Forget(t.Context(), &run.Run{}))
	s.desk.Store = nil
	must.Do(t, clusters.Forget(t.Context(), s.desk.Run))
}
