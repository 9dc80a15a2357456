package clusters_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/clusters"
	"slipway/internal/hold"
	"slipway/internal/must"
	"slipway/internal/rollout"
	"slipway/internal/testkit"
	"slipway/internal/testkit/machines"
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
	s.desk.Result.Stage = "cluster-apply"
	s.desk.Key = hold.Nodes(s.desk.Run).Key
	return s
}

// roll makes a rollout for a new run.
func (s *site) roll(only ...rollout.Kind) *clusters.Rollout {
	s.desk.ID += "+"
	return &clusters.Rollout{Cluster: &clusters.Cluster{Run: s.desk.Run, Spec: s.Spec, Secrets: s.Bundle}, Access: s.Access, Only: only}
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
	for _, method := range []string{"ApplyConfiguration", "Bootstrap", "Version", "EtcdStatus", "EtcdMemberList", "List", "Read", "Get"} {
		for nth := range 3 {
			s := newSite(t, 3, "v1.14.1")
			seen := 0
			var lock sync.Mutex
			s.Sim.Calls = func(_, called string) error {
				lock.Lock()
				defer lock.Unlock()
				if strings.HasSuffix(called, "/"+method) {
					if seen++; seen == nth+1 {
						return status.Error(codes.Unavailable, "the tunnel is cut")
					}
				}
				return nil
			}
			if err := s.roll(every...).Do(t.Context()); err != nil {
				t.Errorf("%s, call %d: %v", method, nth+1, err)
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
	for _, secret := range []string{"canary", s.Bundle.TrustdInfo.Token} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("it shows %s: %v", secret, err)
		}
	}
	s.Machine("a").Set(sim.Faults{})
	must.Do(t, s.roll(every...).Do(t.Context()))
	s.asWanted(t)
}
