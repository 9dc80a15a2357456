package clusters_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/cluster"
	"slipway/internal/clusters"
	"slipway/internal/environment"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/rollout"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/testkit"
	"slipway/internal/testkit/machines"
	"slipway/internal/testkit/soon"
)

var every = []rollout.Kind{rollout.Configure, rollout.Change, rollout.Bootstrap}

// A site is a cluster of simulated machines, and the store in which runs on it leave their journals.
type site struct {
	*machines.Cluster
	desk *testkit.Desk
}

func newSite(t *testing.T, controls int, version string) *site {
	t.Helper()
	s := &site{machines.New(t, controls, version), testkit.New(t)}
	s.desk.Repository = t.TempDir()
	s.desk.Result.Stage = "apply"
	s.desk.OnlyLayer = cluster.FileName
	s.desk.Credentials = map[string]string{state.Passphrase: testkit.Passphrase}
	s.desk.Key = hold.Nodes(s.desk.Run).Key
	return s
}

// roll makes a rollout for a new run.
func (s *site) roll(only ...rollout.Kind) *clusters.Rollout {
	s.desk.ID += "+"
	o, err := clusters.NewRollout(s.T.Context(), &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle}, only...)
	must.Do(s.T, err)
	return o
}

// asWanted checks that every node is as it should be, and that there is one etcd.
func (s *site) asWanted(t *testing.T) {
	t.Helper()
	c := &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle}
	state, err := c.Observe(t.Context(), s.Access)
	must.Do(t, err)
	if a := rollout.Next(c.Situation(state, nil)); a.Verdict != rollout.Done {
		t.Errorf("at the end: %s, %s", a.Verdict, a.Reason)
	}
	if n := s.Sim.Etcds(); n != 1 {
		t.Errorf("%d clusters of etcd have begun", n)
	}
	if id := s.desk.LockID(); id != "" {
		t.Errorf("the lock %s is left", id)
	}
}

// describes writes a cluster.yaml, of which only that it is there matters here.
func (s *site) describes(t *testing.T) {
	t.Helper()
	folder := filepath.Join(s.desk.Repository, "environments", s.desk.Env)
	must.Do(t, os.MkdirAll(folder, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(folder, cluster.FileName), nil, 0o600))
}

// patch writes a patch for all nodes.
func (s *site) patch(t *testing.T, text string) {
	t.Helper()
	folder := filepath.Join(s.desk.Repository, "environments", s.desk.Env)
	must.Do(t, os.MkdirAll(folder, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(folder, "patch.yaml"), []byte(text), 0o600))
	s.Spec.Patches = []string{"patch.yaml"}
}

// A new cluster is configured, begins once, is changed, and grows. A rollout with nothing to do does
// nothing.
func TestRolloutLife(t *testing.T) {
	for _, version := range []string{"v1.12.4", "v1.14.1"} {
		t.Run(version, func(t *testing.T) {
			s := newSite(t, 3, version)
			s.patch(t, "machine: {sysctls: {vm.swappiness: \"10\"}}\n")
			if err := s.roll(rollout.Configure, rollout.Change).Do(t.Context()); !errors.Is(err, clusters.ErrBefore) {
				t.Fatalf("before etcd begins: %v", err)
			}
			if s.Sim.Etcds() != 0 {
				t.Error("etcd has begun")
			}
			must.Do(t, s.roll(rollout.Bootstrap).Do(t.Context()))
			s.asWanted(t)
			boots := s.Machine("a").Boots()

			s.patch(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
			o := s.roll(every...)
			must.Do(t, o.Do(t.Context()))
			s.asWanted(t)
			if len(o.Result.Nodes) != 4 || o.Result.Nodes[0].Status != "changed" || o.Result.Nodes[0].Changes != 1 || o.Result.Nodes[0].Restarted || s.Machine("a").Boots() != boots {
				t.Errorf("a sysctl: %+v", o.Result.Nodes)
			}
			s.desk.Result.Nodes = nil
			o = s.roll(every...)
			must.Do(t, o.Do(t.Context()))
			if len(o.Result.Nodes) != 0 {
				t.Errorf("again: %+v", o.Result.Nodes)
			}
		})
	}
}

// Up to Talos 1.13 some changes restart a node: the next node waits until it is back, and the leader is the
// last control plane.
func TestRolloutRestarts(t *testing.T) {
	s := newSite(t, 3, "v1.13.0")
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.Machine("a").Lead()
	var order []string
	var lock sync.Mutex
	s.Sim.Calls = func(address, method string) error {
		lock.Lock()
		defer lock.Unlock()
		if strings.HasSuffix(method, "/ApplyConfiguration") && !slices.Contains(order, address) {
			order = append(order, address)
		}
		return nil
	}
	s.desk.Result.Nodes = nil
	s.patch(t, "machine: {env: {HTTPS_PROXY: http://proxy.example.org}}\n")
	o := s.roll(every...)
	must.Do(t, o.Do(t.Context()))
	s.asWanted(t)
	for _, n := range o.Result.Nodes {
		if !n.Restarted || s.Machine(n.Name).Boots() != 2 {
			t.Errorf("%+v, %d boots", n, s.Machine(n.Name).Boots())
		}
	}
	want := []string{s.Node("b").Address, s.Node("c").Address, s.Node("a").Address, s.Node("w").Address}
	if !slices.Equal(order, want) {
		t.Errorf("in the order %q, want %q", order, want)
	}
}

// Whatever call goes without an answer, the rollout ends in the same place, with one etcd: the call never
// reached the node, or its answer was lost.
func TestRolloutLostAnswers(t *testing.T) {
	calls := 3
	if testing.Short() {
		calls = 1
	}
	for _, method := range []string{"ApplyConfiguration", "Bootstrap", "Version", "EtcdStatus", "EtcdMemberList", "List", "Read", "Get"} {
		for nth := range 2 * calls {
			s := newSite(t, 3, "v1.14.1")
			nth, reached := nth/2, nth%2 == 1
			seen := 0
			var lock sync.Mutex
			cut := func(_, called string) error {
				lock.Lock()
				defer lock.Unlock()
				if strings.HasSuffix(called, "/"+method) {
					if seen++; seen == nth+1 {
						return status.Error(codes.Unavailable, "the tunnel is cut")
					}
				}
				return nil
			}
			if reached {
				s.Sim.Answers = cut
			} else {
				s.Sim.Calls = cut
			}
			o := s.roll(every...)
			if err := o.Do(t.Context()); err != nil {
				t.Errorf("%s, call %d: %v", method, nth+1, err)
			}
			for _, n := range o.Result.Nodes {
				if n.Status != "configured" && n.Status != "bootstrapped" {
					t.Errorf("%s, call %d: in the end, %s is %q", method, nth+1, n.Name, n.Status)
				}
			}
			s.asWanted(t)
		}
	}
}

// What a node says of a configuration is shown without the configuration.
func TestRolloutRejected(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.patch(t, "machine: {env: {HTTPS_PROXY: \"http://u:canary-of-a-patch@proxy\"}}\n")
	s.Machine("a").Set(sim.Faults{Rejects: "not with http://u:canary-of-a-patch@proxy and " + s.Bundle.TrustdInfo.Token + "\ndiff:\ncanary-of-a-diff"})
	err := s.roll(every...).Do(t.Context())
	must.Fail(t, err, "a did not accept it: not with ")
	s.ended(t, "a failed")
	for _, secret := range []string{"canary", s.Bundle.TrustdInfo.Token} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("it shows %s: %v", secret, err)
		}
	}
	s.Machine("a").Set(sim.Faults{})
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}

// A node whose disk is full is named, and the nodes after it stay as they are. When there is room again, the
// same rollout ends.
func TestRolloutFullDisk(t *testing.T) {
	s := newSite(t, 3, "v1.14.1")
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.Machine("a").Lead()
	s.patch(t, "machine: {env: {HTTPS_PROXY: \"http://u:canary@proxy\"}}\n")
	s.Machine("c").Set(sim.Faults{Full: true})
	former := s.Machine("c").Config()
	s.desk.Result.Nodes = nil
	o := s.roll(every...)
	err := o.Do(t.Context())
	must.Hint(t, err, "dagger call cluster logs --env=test --node=c --service=machined")
	must.Fail(t, err, "c did not accept it: write /system/state/config.yaml: no space left on device")
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("it shows the configuration: %v", err)
	}
	if s.Machine("c").Config() != former {
		t.Error("c has another configuration")
	}
	s.ended(t, "b changed c failed")
	s.Machine("c").Set(sim.Faults{})
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}

// A watcher is a terminal that ends a run when a text is printed.
type watcher struct {
	text string
	stop func()
}

func (w *watcher) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.stop()
	}
	return len(p), nil
}

// until runs a rollout until it says something, and returns how it ended then.
func (s *site) until(t *testing.T, text string) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := s.roll(every...)
	o.Stderr = &watcher{text, stop}
	return o.Do(ctx)
}

// While something is wrong with the cluster, no other control plane is changed. The rollout waits, and says
// for what; it goes on when that is over.
func TestRolloutWaits(t *testing.T) {
	for name, c := range map[string]struct {
		node   string
		faults sim.Faults
		says   string
	}{
		"a silent node":     {"c", sim.Faults{Silent: true}, "has another configuration, and has to wait: c does not answer"},
		"a mute etcd":       {"c", sim.Faults{Mute: true}, "it is not known which members of etcd c sees"}, // it is changed first, as that can repair it
		"views that differ": {"c", sim.Faults{Stale: true}, "c is still a learner of etcd"},
		"a leader not seen": {"c", sim.Faults{NoLeader: true}, "it is not known which members of etcd c sees"},
		"a silent worker":   {"w", sim.Faults{Silent: true}, "w does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 3, "v1.14.1")
			must.Do(t, s.roll(every...).Do(t.Context()))
			s.patch(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
			s.Machine(c.node).Set(c.faults)
			err := s.until(t, c.says)
			must.Hint(t, err, "dagger call cluster apply --env=test")
			must.Fail(t, err, "the change of the cluster was interrupted")
			s.Machine(c.node).Set(sim.Faults{})
			must.Do(t, s.roll(every...).Do(t.Context()))
			s.asWanted(t)
		})
	}
}

// A rollout does not wait for ever. What was done before stays on record, and the next one goes on.
func TestRolloutGivesUp(t *testing.T) {
	s := newSite(t, 3, "v1.14.1")
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.patch(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
	s.Machine("w").Set(sim.Faults{Silent: true})
	o := s.roll(every...)
	o.Patience = time.Millisecond
	err := o.Do(t.Context())
	must.Fail(t, err, "nothing has changed for 1ms: w does not answer")
	must.Hint(t, err, "dagger call cluster status --env=test")
	s.Machine("w").Set(sim.Faults{})
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}

// What a person must look at first is refused, with nothing changed.
func TestRolloutRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		wrong   func(*testing.T, *site)
		message string
	}{
		"an alarm": {func(_ *testing.T, s *site) { s.Machine("b").Set(sim.Faults{Alarm: "NOSPACE"}) }, "etcd has the alarm NOSPACE on b"},
		"a machine of another cluster": {func(t *testing.T, s *site) {
			other := machines.New(t, 1, "v1.14.1")
			other.Configure()
			s.Spec.Nodes[2].Address = other.Node("a").Address
		}, "c belongs to another cluster"},
		"a member too many": {func(_ *testing.T, s *site) { s.Spec.Nodes = slices.Delete(s.Spec.Nodes, 1, 2) }, `etcd has the member "b", which is not a control plane in cluster.yaml`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 3, "v1.14.1")
			must.Do(t, s.roll(every...).Do(t.Context()))
			s.patch(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
			c.wrong(t, s)
			s.desk.Result.Nodes = nil
			o := s.roll(every...)
			must.Refuse(t, o.Do(t.Context()), c.message, "dagger call cluster status --env=test")
			if len(o.Result.Nodes) > 0 {
				t.Errorf("changed: %+v", o.Result.Nodes)
			}
			if id := s.desk.LockID(); id != "" {
				t.Errorf("the lock %s is left", id)
			}
		})
	}
}

// A cluster that another program changes is left to it. Slipway goes on when that is over.
func TestRolloutOwned(t *testing.T) {
	for owner, c := range map[string]struct {
		node        string // the one that is named
		begin, over func(*testing.T, *site)
	}{
		"tuppr": {"w",
			func(_ *testing.T, s *site) {
				s.Machine("w").Set(sim.Faults{Labels: map[string]string{"tuppr.home-operations.com/upgrading": "true"}})
			},
			func(_ *testing.T, s *site) { s.Machine("w").Set(sim.Faults{}) }},
		"Cluster API": {"b",
			func(_ *testing.T, s *site) {
				s.Machine("b").Set(sim.Faults{Annotations: map[string]string{"cluster.x-k8s.io/machine": "home-b"}})
			},
			func(_ *testing.T, s *site) { s.Machine("b").Set(sim.Faults{}) }},
		"Omni": {"a",
			func(t *testing.T, s *site) {
				s.byHand(t, "apiVersion: v1alpha1\nkind: SideroLinkConfig\napiUrl: https://omni.example.org\n")
			},
			func(t *testing.T, s *site) { s.byHand(t, "machine: {sysctls: {vm.swappiness: \"10\"}}\n") }},
	} {
		t.Run(owner, func(t *testing.T) {
			s := newSite(t, 3, "v1.14.1")
			must.Do(t, s.roll(every...).Do(t.Context()))
			c.begin(t, s)
			must.Do(t, s.roll(every...).Do(t.Context()))
			s.asWanted(t)

			const change = "machine: {sysctls: {vm.swappiness: \"20\"}}\n"
			s.patch(t, change)
			var asked atomic.Int32
			s.Sim.Calls = func(_, method string) error {
				if strings.HasSuffix(method, "/ApplyConfiguration") {
					asked.Add(1)
				}
				return nil
			}
			s.desk.Result.Nodes = nil
			o := s.roll(every...)
			must.Refuse(t, o.Do(t.Context()), c.node+" belongs to "+owner+", which changes its nodes itself", "dagger call cluster status --env=test")
			if n := asked.Load(); n > 0 || len(o.Result.Nodes) > 0 {
				t.Errorf("%d calls, changed: %+v", n, o.Result.Nodes)
			}
			if id := s.desk.LockID(); id != "" {
				t.Errorf("the lock %s is left", id)
			}

			c.over(t, s)
			s.patch(t, change)
			must.Do(t, s.roll(every...).Do(t.Context()))
			s.asWanted(t)
		})
	}
}

// A node that boots with its former configuration is not taken for changed. Who repeats the run tries it again.
func TestRolloutForgets(t *testing.T) {
	s := newSite(t, 3, "v1.13.0")
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.patch(t, "machine: {env: {HTTPS_PROXY: http://proxy.example.org}}\n")
	s.Machine("b").Set(sim.Faults{Forgets: true})
	for range 2 {
		must.Refuse(t, s.roll(every...).Do(t.Context()), "b did not keep the configuration that it was given", "dagger call cluster status --env=test")
	}
	s.Machine("b").Set(sim.Faults{})
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}

// An interrupted change does not stand in the way of the next one: of another configuration, of the first one again, or of
// a node that has lost its disk since.
func TestRolloutAfterInterruption(t *testing.T) {
	s := newSite(t, 3, "v1.13.0")
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.Machine("a").Lead()
	for _, value := range []string{"one", "other", "one"} {
		s.patch(t, "machine: {env: {A: "+value+"}}\n")
		ctx, stop := context.WithCancel(t.Context())
		var applied atomic.Int32
		s.Sim.Answers = func(address, method string) error {
			if address == s.Node("b").Address && path.Base(method) == "ApplyConfiguration" && applied.Add(1) == 2 { // the first is a question
				stop()
			}
			return nil
		}
		must.Fail(t, s.roll(every...).Do(ctx), "the change of the cluster was interrupted")
		s.Sim.Answers = nil
		soon.Wait(t, "b has restarted", func() bool { o := s.Observe("b"); return o.Boot != "" && !o.Staged && !o.Busy })
	}
	must.Do(t, s.Machine("b").Wipe())
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}

// A node whose boot cannot be read is not taken for one that has restarted: etcd would be asked to begin a second time.
func TestRolloutUnreadBoot(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	var begun, unread atomic.Int32
	s.Sim.Calls = func(_, method string) error {
		switch path.Base(method) {
		case "Bootstrap":
			begun.Add(1)
		case "Read":
			if begun.Load() > 0 && unread.Add(1) <= 2 {
				return status.Error(codes.Unavailable, "the tunnel is cut")
			}
		}
		return nil
	}
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
	s.ended(t, "a bootstrapped w configured")
	if n := begun.Load(); n != 1 {
		t.Errorf("etcd was asked to begin %d times", n)
	}
}

// running is a site whose cluster runs, without a rollout.
func running(t *testing.T) *site {
	t.Helper()
	s := newSite(t, 1, "v1.14.1")
	s.Configure()
	must.Do(t, s.Bootstrap("a"))
	return s
}

// dead leaves a run that was interrupted after these steps.
func (s *site) dead(t *testing.T, entries ...journal.Entry) {
	t.Helper()
	dead := s.desk.Other(journal.Header{ID: "dead", Stage: "cluster-apply"})
	for _, e := range entries {
		must.Do(t, dead.Keep(t.Context(), e))
	}
	must.Do(t, dead.Abandon(t.Context()))
}

// ended checks what the result says of the nodes.
func (s *site) ended(t *testing.T, want string) {
	t.Helper()
	var words []string
	for _, n := range s.desk.Result.Nodes {
		words = append(words, n.Name, n.Status)
	}
	if got := strings.Join(words, " "); got != want {
		t.Errorf("in the end: %q, not %q", got, want)
	}
}

// A rollout goes on where an earlier one was interrupted: it knows what that one asked for.
func TestRolloutGoesOn(t *testing.T) {
	s := running(t)
	o := s.roll(every...)
	o.Lost = true
	must.Refuse(t, o.Do(t.Context()), "the quorum is not lost: a sees a leader of etcd", "dagger call cluster status --env=test")

	s.patch(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
	s.dead(t, journal.Entry{Kind: journal.Start, Address: "w", Action: "change", ID: "before"}, journal.Entry{Kind: journal.Complete, Address: "w", Action: "configure"})
	s.Machine("w").Set(sim.Faults{Silent: true})
	must.Fail(t, s.until(t, "waiting: w has been changed and does not answer"), "was interrupted")
	s.Machine("w").Set(sim.Faults{})
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}

// One that was interrupted when it asked for etcd goes on, too. A lost answer makes no difference.
func TestRolloutBeginsAgain(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.Configure()
	a := s.Observe("a")
	s.dead(t, journal.Entry{Kind: journal.Start, Address: "a", Action: "bootstrap", ID: a.Boot + " " + a.Etcd.Service})
	s.Sim.Answers = func(_, method string) error {
		if path.Base(method) == "Bootstrap" {
			return status.Error(codes.Unavailable, "the tunnel is cut")
		}
		return nil
	}
	for _, want := range []string{"a bootstrapped", ""} { // the earlier request never arrived, and this one's answer is lost
		s.desk.Result.Nodes = nil
		must.Do(t, s.roll(every...).Do(t.Context()))
		s.ended(t, want)
	}
	s.asWanted(t)
}

// A node that never answers its step is named in the end, and an earlier lost answer does not count.
func TestRolloutUnanswered(t *testing.T) {
	s := running(t)
	s.patch(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
	var asked atomic.Int32
	s.Sim.Calls = func(address, method string) error {
		if path.Base(method) == "ApplyConfiguration" && (address == s.Node("w").Address || asked.Add(1) == 1) {
			return status.Error(codes.Unavailable, "the tunnel is cut")
		}
		return nil
	}
	o := s.roll(every...)
	err := o.Do(t.Context())
	must.Fail(t, err, "w did not answer when it was given its step: it cannot be reached")
	must.Hint(t, err, "dagger call cluster status --env=test")
	s.ended(t, "a changed w failed")
	if says := fmt.Sprint(s.desk.Stderr); strings.Count(says, "it cannot be reached\n") != 5 || strings.Count(says, " has another configuration\n") != 2 {
		t.Errorf("it says %s", says)
	}
}

// A run whose lock another one has taken ends at once, and records nothing: it may no longer be true.
func TestRolloutDeposed(t *testing.T) {
	s := running(t)
	must.Do(t, s.roll(every...).Do(t.Context()))
	const key = "test/cluster.json"
	before, err := s.desk.Store.Read(t.Context(), key)
	must.Do(t, err)
	s.Machine("w").Set(sim.Faults{Silent: true})
	s.desk.Beat = journal.Beat{Every: 200 * time.Millisecond, GiveUp: time.Hour}
	o := s.roll(every...)
	o.Stderr = &watcher{"w does not answer", sync.OnceFunc(func() {
		must.Do(t, s.desk.Store.Unlock(t.Context(), s.desk.Key, s.desk.LockID()))
		s.desk.LockAs("other")
	})}
	must.Fail(t, o.Do(t.Context()), "another run has taken this run's lock")
	after, err := s.desk.Store.Read(t.Context(), key)
	must.Do(t, err)
	if string(after) != string(before) {
		t.Errorf("it records %s", after)
	}
}

// A node whose certificate in maintenance mode is another than the one in cluster.yaml gets no secrets.
func TestRolloutFingerprint(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.Spec.Nodes[0].Fingerprint = strings.Repeat("0", 43) + "="
	must.Refuse(t, s.roll(every...).Do(t.Context()), "a shows a certificate with the fingerprint "+s.Machine("a").Fingerprint()+", not 000", "$EDITOR environments/test/cluster.yaml")
	if id := s.desk.LockID(); s.Machine("a").Config() != nil || len(s.desk.Result.Nodes) > 0 || id != "" {
		t.Errorf("it was begun: %+v, and the lock is %q", s.desk.Result.Nodes, id)
	}
	s.Spec.Nodes[0].Fingerprint = s.Machine("a").Fingerprint()
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}

// Somebody else begins etcd between our look and our call: the cluster is adopted.
func TestRolloutRace(t *testing.T) {
	s := newSite(t, 3, "v1.14.1")
	if err := s.roll(rollout.Configure).Do(t.Context()); !errors.Is(err, clusters.ErrBefore) {
		t.Fatal(err)
	}
	if keys := s.desk.Journals(); len(keys) > 0 {
		t.Errorf("there is nothing to go on with, and it leaves %q", keys)
	}
	var raced atomic.Bool
	s.Sim.Calls = func(address, method string) error {
		if strings.HasSuffix(method, "/Bootstrap") && raced.CompareAndSwap(false, true) {
			return s.Bootstrap("a")
		}
		return nil
	}
	o := s.roll(every...)
	must.Do(t, o.Do(t.Context()))
	s.asWanted(t)
	if i := slices.IndexFunc(o.Result.Nodes, func(n run.NodeResult) bool { return n.Status != "configured" }); i >= 0 {
		t.Errorf("it says that it has begun: %+v", o.Result.Nodes)
	}
}

// Two runs cannot change one cluster at a time.
func TestRolloutLock(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	other := s.desk.Other(journal.Header{ID: "other", Stage: "cluster-apply"})
	must.Refuse(t, s.roll(every...).Do(t.Context()), "run other (cluster-apply", "dagger call cluster apply --env=test")
	must.Do(t, other.Abandon(t.Context()))
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}

// A control plane that has lost its disk gets its configuration, and replaces the member of etcd that it was.
func TestRolloutReplaces(t *testing.T) {
	s := newSite(t, 3, "v1.14.1")
	must.Do(t, s.roll(every...).Do(t.Context()))
	was := s.Access.Observe(t.Context(), s.Node("b").Address, true).Etcd.Self
	must.Do(t, s.Machine("b").Wipe())
	s.desk.Result.Nodes = nil
	o := s.roll(every...)
	must.Do(t, o.Do(t.Context()))
	if len(o.Result.Nodes) != 1 || o.Result.Nodes[0].Name != "b" || o.Result.Nodes[0].Status != "configured" {
		t.Errorf("changed: %+v", o.Result.Nodes)
	}
	s.asWanted(t)
	now := s.Access.Observe(t.Context(), s.Node("b").Address, true).Etcd
	if now.Self == was || len(now.Members) != 3 || slices.ContainsFunc(now.Members, func(m rollout.Member) bool { return m.ID == was }) {
		t.Errorf("b was the member %d, and sees %+v", was, now)
	}
}

// Nodes are not changed while a layer is, nor after a run on a layer was interrupted: the layer may create or remove them.
func TestRolloutBesideLayer(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.desk.Environment.Layers = []environment.Layer{{Path: "net"}}
	s.desk.OnlyLayer = ""
	nodes := s.desk.Key
	s.desk.Key = hold.State(s.desk.Run, s.desk.Environment.Layers[0]).Key
	you := s.desk.Other(journal.Header{ID: "you", Stage: "apply"})
	must.Refuse(t, s.roll(every...).Do(t.Context()), "the state of net is in use by run you (apply", "dagger call unlock --env=test")
	must.Do(t, you.Abandon(t.Context()))
	must.Do(t, you.Remove(t.Context()))
	s.desk.Interrupted(journal.Header{ID: "they", Stage: "apply"})
	must.Refuse(t, s.roll(every...).Do(t.Context()), "run they (apply", "dagger call recover --env=test")
	s.desk.Key = nodes
	if id := s.desk.LockID(); id != "" || s.Sim.Etcds() != 0 {
		t.Errorf("the lock %q is left, %d clusters of etcd have begun", id, s.Sim.Etcds())
	}
}

// With most control planes down nothing is changed, unless the caller says that the quorum is lost. No second
// etcd begins, whatever cannot be read.
func TestRolloutQuorumLost(t *testing.T) {
	s := newSite(t, 3, "v1.14.1")
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.patch(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
	o := s.roll(every...)
	o.Lost = true
	must.Refuse(t, o.Do(t.Context()), "the quorum is not lost: a sees a leader of etcd", "dagger call cluster status --env=test")
	s.Machine("b").Set(sim.Faults{Silent: true})
	s.Machine("c").Set(sim.Faults{Silent: true})
	s.desk.Result.Stage, s.desk.OnlyLayer = "cluster-bootstrap", ""
	must.Hint(t, s.until(t, "a has another configuration, and has to wait"), "dagger call cluster bootstrap --env=test")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o = s.roll(every...)
	o.Lost = true
	o.Stderr = &watcher{"w has another configuration, and has to wait", stop}
	must.Fail(t, o.Do(ctx), "was interrupted: w has another configuration, and has to wait")
	if i := slices.IndexFunc(o.Result.Nodes, func(n run.NodeResult) bool { return n.Name == "a" && n.Status == "changed" }); i < 0 {
		t.Errorf("a was not changed: %+v", o.Result.Nodes)
	}
	s.Machine("b").Set(sim.Faults{})
	s.Machine("c").Set(sim.Faults{})
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}

// What a tool such as kubectl did before it was killed is no step of a rollout. A rollout that succeeds forgets it.
func TestRolloutAfterTool(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	tool := s.desk.Other(journal.Header{ID: "tool", Stage: "cluster-kubectl"})
	must.Do(t, tool.Keep(t.Context(), journal.Entry{Kind: journal.Start, Action: "kubectl delete"}))
	must.Do(t, tool.Abandon(t.Context()))
	must.Do(t, s.roll(every...).Do(t.Context()))
	if keys := s.desk.Journals(); len(keys) > 0 {
		t.Errorf("left are %q", keys)
	}

	tool = s.desk.Other(journal.Header{ID: "tool", Stage: "cluster-kubectl"})
	must.Do(t, tool.Keep(t.Context(), journal.Entry{Kind: journal.Start, Action: "kubectl delete"}))
	must.Do(t, tool.Abandon(t.Context()))
	s.Machine("a").Set(sim.Faults{Labels: map[string]string{"tuppr.home-operations.com/upgrading": "true"}})
	s.patch(t, "machine: {sysctls: {vm.swappiness: \"10\"}}\n")
	must.Fail(t, s.roll(every...).Do(t.Context()), "tuppr")
	for _, key := range s.desk.Journals() {
		if !strings.HasPrefix(key, "tool/") {
			t.Errorf("a rollout without a step leaves %s", key)
		}
	}
}
