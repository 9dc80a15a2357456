//go:build blackbox

package main

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	running "slipway/internal/processes"
	"slipway/internal/run"
	"slipway/internal/testkit/machines"
)

// strike sends a signal to the processes of a server's connections. Each has two, and one ends with the other.
func (h *sshHost) strike(t *testing.T, signal syscall.Signal) {
	t.Helper()
	for _, pid := range running.Descendants(h.Process.Pid) {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
}

// The machines of a cluster are reached through OpenSSH's server. In the middle of the bootstrap, the connection to it is
// killed before the call has reached the machine, or after the machine has begun etcd. Or it is frozen then: nothing
// arrives any more, and nothing is closed. The same run opens it again and ends, and no second etcd begins.
func TestBlackBoxBastion(t *testing.T) {
	s := newSite(t, "gate")
	s.settings("ssh: {jump: gate}")
	gate, h := s.hosts["gate"], &home{project: s.project}
	t.Cleanup(func() { gate.strike(t, syscall.SIGKILL) }) // one that is frozen does not end by itself
	var canaries map[string]string
	for name, c := range map[string]struct {
		signal  syscall.Signal
		reached bool
	}{
		"killed before": {syscall.SIGKILL, false},
		"killed after":  {syscall.SIGKILL, true},
		"frozen after":  {syscall.SIGSTOP, true},
	} {
		h.Set = machines.Start(t, 3, "v1.14.1")
		h.describe(3)
		if canaries == nil {
			h.tune("10")
			made := h.run("cluster-secrets").must(t, run.Done)
			h.write(sealedMachines, readFile(t, filepath.Join(made.out, "changed", sealedMachines)))
			canaries = clusterCanaries(h.project)
		}
		h.stage("apply", canaries).must(t, run.Done).says(t, "node-2: configured")
		var once sync.Once
		strike := func(_, method string) (err error) {
			if strings.HasSuffix(method, "/Bootstrap") {
				once.Do(func() {
					gate.strike(t, c.signal)
					if !c.reached {
						err = status.Error(codes.Unavailable, "the machine never got it")
					}
				})
			}
			return err
		}
		if c.reached {
			h.Sim.Answers = strike
		} else {
			h.Sim.Calls = strike
		}
		h.stage("cluster-bootstrap", canaries).must(t, run.Done).says(t, "node-0: bootstrapped\n", "home: etcd runs on every control plane: node-0, node-1, node-2\n")
		h.stage("cluster-bootstrap", canaries).must(t, run.Done).says(t, "home: nothing to do")
		if n := h.Sim.Etcds(); n != 1 {
			t.Errorf("%s: %d clusters of etcd have begun", name, n)
		}
	}
	h.asWanted()

	gate.strike(t, syscall.SIGKILL)
	gate.Off()
	// Eleven runs, and the second login of three of them.
	if n := strings.Count(gate.Log(), "Accepted publickey for root"); n < 14 {
		t.Errorf("%d logins:\n%s", n, gate.Log())
	}
	h.stage("cluster-status", canaries).must(t, run.Done).says(t, "silent (the bastion gate cannot be reached)")
	h.stage("cluster-logs", canaries, func(o *call) { o.Flags = []string{"--node=node-0", "--service=etcd"} }).must(t, run.Failed).
		says(t, "node-0 did not list its services: the bastion gate cannot be reached", "hint: dagger call cluster status --env=test")
	delete(h.secret, "SSH_PRIVATE_KEY")
	h.seal()
	h.run("apply").must(t, run.BadInput).says(t, "the credentials of test have no SSH_PRIVATE_KEY, the SSH key for its hosts", "--variable=SSH_PRIVATE_KEY")
}
