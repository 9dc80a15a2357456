//go:build blackbox

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/talos"
	"slipway/internal/testkit/machines"
)

const sealedMachines = "credentials/test-talos.enc.yaml"

// withCluster describes a cluster whose one node comes from a layer's output.
func withCluster(t *testing.T) *project {
	t.Helper()
	p := newProject(t, `output "talos_nodes" {
  value = [{ name = "a", address = "10.0.0.11", role = "controlplane", disk = "/dev/sda" }]
}
`)
	p.write("environments/test/cluster.yaml", "name: home\ntalos: v1.14.1\nkubernetes: v1.35.0\nendpoint: https://10.0.0.10:6443\nnetwork: 10.0.0.0/24\npatches: [proxy.yaml]\n")
	p.write("environments/test/proxy.yaml", "machine: {env: {HTTPS_PROXY: \"http://u:canary-in-a-patch@proxy\"}}\n")
	return p
}

// The secrets of a cluster are made straight into a SOPS file. Nodes come from a layer's output. Each step
// that is missing is named.
func TestBlackBoxCluster(t *testing.T) {
	p := withCluster(t)
	p.run("environments").must(t, run.Done)
	p.run("cluster-config").must(t, run.BadInput).says(t, "has not been prepared for environment test", "hint: dagger call bootstrap --env=test")
	p.run("bootstrap").must(t, run.Done)
	p.run("cluster-config").must(t, run.BadInput).says(t, "there is no file "+sealedMachines, "hint: dagger call -y cluster secrets --env=test")
	made := p.run("cluster-secrets").must(t, run.Done).says(t, sealedMachines+": created, encrypted to "+p.key.Recipient().String())
	sealed := readFile(t, filepath.Join(made.out, "changed", sealedMachines))
	p.write(sealedMachines, sealed)
	checked := p.run("secrets-check").must(t, run.Done).says(t, sealedMachines+": readable by")
	p.run("cluster-secrets").must(t, run.Done).says(t, sealedMachines+": already there, and complete")
	p.run("cluster-config").must(t, run.BadInput).says(t, "the cluster home has no nodes", "hint: dagger call apply --env=test")
	p.run("apply").must(t, run.Done)
	shown := p.run("cluster-config", func(o *call) { o.add("--node=a") }).must(t, run.Done).
		says(t, "a (controlplane, 10.0.0.11)\n", "machine.token: (hidden)\n", "machine.env.HTTPS_PROXY: (hidden)\n", "HostnameConfig: hostname: a\n")
	p.run("cluster-config", func(o *call) { o.add("--node=b") }).must(t, run.BadInput).says(t, `cluster home has no node "b"`, "hint: the nodes of test are a")

	canaries := clusterCanaries(p)
	for stage, e := range map[string]ended{"cluster-secrets": made, "secrets-check": checked, "cluster-config": shown} {
		if found := leaked(e.left(t), canaries); len(found) > 0 {
			t.Errorf("%s leaks %q:\n%s%s", stage, found, e.stdout, e.stderr)
		}
	}
	p.write("environments/test/cluster.yaml", "name: home\n")
	p.run("environments").must(t, run.BadInput).says(t, "environments/test/cluster.yaml: talos is \"\"")
}

// clusterCanaries are the secrets of a project's machines, and those of its other files.
func clusterCanaries(p *project) map[string]string {
	p.t.Helper()
	canaries := map[string]string{"of a patch": "canary-in-a-patch", "the age identity": p.key.String()}
	plain, err := secrets.OpenDocument(sealedMachines, []byte(readFile(p.t, filepath.Join(p.dir, sealedMachines))), p.reader())
	must.Do(p.t, err)
	contract, err := talos.Contract("v1.14.1")
	must.Do(p.t, err)
	bundle, err := talos.ReadSecrets(plain, contract)
	must.Do(p.t, err)
	for i, value := range talos.SecretsOf(bundle) {
		if value != "" {
			canaries[fmt.Sprintf("secret %d of the machines", i)] = value
		}
	}
	if len(canaries) < 10 {
		p.t.Errorf("only %d secrets", len(canaries))
	}
	return canaries
}

// A home is a project with a cluster of simulated machines.
type home struct {
	*project
	machines.Set
}

func newHome(t *testing.T, n int) *home {
	t.Helper()
	h := &home{newProject(t, ""), machines.Start(t, n, "v1.14.1")}
	h.describe(3)
	h.tune("10")
	h.run("bootstrap").must(t, run.Done)
	made := h.run("cluster-secrets").must(t, run.Done)
	h.write(sealedMachines, readFile(t, filepath.Join(made.out, "changed", sealedMachines)))
	return h
}

// describe writes the cluster with so many nodes, of which the fourth is a worker.
func (h *home) describe(nodes int) {
	text := "name: home\ntalos: v1.14.1\nkubernetes: v1.35.0\nendpoint: https://" + h.Addresses[0] + ":6443\npatches: [tuned.yaml]\ncontrolPlanes: {disk: /dev/sda}\nworkers: {disk: /dev/sdb}\nnodes:\n"
	for i, address := range h.Addresses[:nodes] {
		role := "controlplane"
		if i == 3 {
			role = "worker"
		}
		text += fmt.Sprintf("  - {name: node-%d, address: %s, role: %s}\n", i, address, role)
	}
	h.write("environments/test/cluster.yaml", text)
}

// tune sets a sysctl of all nodes.
func (h *home) tune(value string) {
	h.write("environments/test/tuned.yaml", "machine:\n  sysctls: {vm.swappiness: \""+value+"\"}\n  env: {HTTPS_PROXY: \"http://u:canary-in-a-patch@proxy\"}\n")
}

// The whole life of a cluster: its secrets, its first configuration, etcd, a changed setting, a node more. A
// stage that is repeated does nothing, and nothing secret is shown or left.
func TestBlackBoxClusterLife(t *testing.T) {
	h := newHome(t, 4)
	canaries := clusterCanaries(h.project)
	stage := func(name string) ended {
		e := h.run(name)
		if found := leaked(e.left(t), canaries); len(found) > 0 {
			t.Errorf("%s leaks %q:\n%s%s", name, found, e.stdout, e.stderr)
		}
		return e
	}
	stage("cluster-status").must(t, run.Done).says(t, "maintenance")
	stage("cluster-health").must(t, run.Failed).says(t, "node-0 is maintenance")
	stage("cluster-bootstrap").must(t, run.BadInput).says(t, "not every node of home has its configuration", "hint: dagger call cluster apply --env=test")
	stage("cluster-apply").must(t, run.Done).says(t, "node-0: configured\nnode-1: configured\nnode-2: configured\nhome: every node has its configuration, and etcd has not begun")
	stage("cluster-bootstrap").must(t, run.Done).says(t, "node-0: bootstrapped\nhome: etcd runs on every control plane: node-0, node-1, node-2\n")
	stage("cluster-bootstrap").must(t, run.Done).says(t, "home: nothing to do")
	stage("cluster-health").must(t, run.Done).says(t, "home is healthy")
	stage("cluster-apply").must(t, run.Done).says(t, "home: nothing to do")

	h.tune("20")
	stage("cluster-apply").must(t, run.Done).says(t, "node-0: 1 settings changed", "node-1: 1 settings changed", "node-2: 1 settings changed")
	h.describe(4)
	stage("cluster-apply").must(t, run.Done).says(t, "node-3: configured\n")
	stage("cluster-apply").must(t, run.Done).says(t, "home: nothing to do")
	if n := h.Sim.Etcds(); n != 1 {
		t.Errorf("%d clusters of etcd have begun", n)
	}
	h.protected()
	stage("cluster-apply").must(t, run.BadInput).says(t, "environment test is protected")
}

// Runs are killed at each call that changes a machine: before it reaches the machine, and after. The same
// stage then ends in the same place, and no second etcd begins.
func TestBlackBoxClusterKilled(t *testing.T) {
	t.Parallel()
	const calls = 3 + 1 + 2*3 // configured, begun, and asked and changed
	for nth := range calls {
		for _, reached := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, reached %t", nth+1, reached), func(t *testing.T) {
				h := newHome(t, 3)
				var lock sync.Mutex
				var process *os.Process
				seen := 0
				h.Sim.Calls = func(_, method string) error {
					lock.Lock()
					defer lock.Unlock()
					if !strings.HasSuffix(method, "/ApplyConfiguration") && !strings.HasSuffix(method, "/Bootstrap") {
						return nil
					}
					if seen++; seen != nth+1 {
						return nil
					}
					if err := process.Kill(); err != nil {
						t.Error(err)
					}
					if reached {
						return nil
					}
					return status.Error(codes.Unavailable, "the machine never got it")
				}
				killed := 0
				for _, stage := range []string{"cluster-apply", "cluster-bootstrap", "tune", "cluster-apply"} {
					if stage == "tune" {
						h.tune("20")
						continue
					}
					lock.Lock()
					cmd := h.start(h.options(stage), io.Discard)
					process = cmd.Process
					lock.Unlock()
					if err := cmd.Wait(); err != nil {
						killed++
						h.run(stage, dead).must(t, run.Done)
					}
				}
				if killed != 1 {
					t.Errorf("%d runs were killed, by %d calls", killed, seen)
				}
				h.run("cluster-health").must(t, run.Done)
				h.run("cluster-apply").must(t, run.Done).says(t, "home: nothing to do")
				if n := h.Sim.Etcds(); n != 1 {
					t.Errorf("%d clusters of etcd have begun", n)
				}
			})
		}
	}
}
