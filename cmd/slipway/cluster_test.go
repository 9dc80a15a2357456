//go:build blackbox

package main

import (
	"fmt"
	"path/filepath"
	"testing"

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

	canaries := map[string]string{"of a patch": "canary-in-a-patch", "the age identity": p.key.String()}
	plain, err := secrets.OpenDocument(sealedMachines, []byte(sealed), p.reader())
	must.Do(t, err)
	contract, err := talos.Contract("v1.14.1")
	must.Do(t, err)
	bundle, err := talos.ReadSecrets(plain, contract)
	must.Do(t, err)
	for i, value := range talos.SecretsOf(bundle) {
		if value != "" {
			canaries[fmt.Sprintf("secret %d of the machines", i)] = value
		}
	}
	if len(canaries) < 10 {
		t.Errorf("only %d secrets", len(canaries))
	}
	for stage, e := range map[string]ended{"cluster-secrets": made, "secrets-check": checked, "cluster-config": shown} {
		if found := leaked(e.left(t), canaries); len(found) > 0 {
			t.Errorf("%s leaks %q:\n%s%s", stage, found, e.stdout, e.stderr)
		}
	}
	p.write("environments/test/cluster.yaml", "name: home\n")
	p.run("environments").must(t, run.BadInput).says(t, "environments/test/cluster.yaml: talos is \"\"")
}

// The whole life of a cluster: its secrets, its first configuration, etcd, a changed setting, a node more. A
// stage that is repeated does nothing. Nothing secret is left anywhere.
func TestBlackBoxClusterLife(t *testing.T) {
	p := newProject(t, "")
	s := machines.Start(t, 4, "v1.14.1")
	describe := func(nodes int) {
		text := "name: home\ntalos: v1.14.1\nkubernetes: v1.35.0\nendpoint: https://" + s.Addresses[0] + ":6443\npatches: [tuned.yaml]\ncontrolPlanes: {disk: /dev/sda}\nworkers: {disk: /dev/sdb}\nnodes:\n"
		for i, address := range s.Addresses[:nodes] {
			role := "controlplane"
			if i == 3 {
				role = "worker"
			}
			text += fmt.Sprintf("  - {name: node-%d, address: %s, role: %s}\n", i, address, role)
		}
		p.write("environments/test/cluster.yaml", text)
	}
	tuned := func(value string) {
		p.write("environments/test/tuned.yaml", "machine:\n  sysctls: {vm.swappiness: \""+value+"\"}\n  env: {HTTPS_PROXY: \"http://u:canary-in-a-patch@proxy\"}\n")
	}
	describe(3)
	tuned("10")
	p.run("bootstrap").must(t, run.Done)
	made := p.run("cluster-secrets").must(t, run.Done)
	p.write(sealedMachines, readFile(t, filepath.Join(made.out, "changed", sealedMachines)))

	p.run("cluster-status").must(t, run.Done).says(t, "maintenance")
	p.run("cluster-health").must(t, run.Failed).says(t, "node-0 is maintenance")
	p.run("cluster-bootstrap").must(t, run.BadInput).says(t, "not every node of home has its configuration", "hint: dagger call cluster apply --env=test")
	p.run("cluster-apply").must(t, run.Done).says(t, "node-0: configured\nnode-1: configured\nnode-2: configured\nhome: every node has its configuration, and etcd has not begun")
	p.run("cluster-bootstrap").must(t, run.Done).says(t, "node-0: bootstrapped\nhome: etcd runs on every control plane: node-0, node-1, node-2\n")
	p.run("cluster-bootstrap").must(t, run.Done).says(t, "home: nothing to do")
	p.run("cluster-health").must(t, run.Done).says(t, "home is healthy")
	p.run("cluster-apply").must(t, run.Done).says(t, "home: nothing to do")

	tuned("20")
	p.run("cluster-apply").must(t, run.Done).says(t, "node-0: 1 settings changed", "node-1: 1 settings changed", "node-2: 1 settings changed")
	describe(4)
	p.run("cluster-apply").must(t, run.Done).says(t, "node-3: configured\n")
	p.run("cluster-apply").must(t, run.Done).says(t, "home: nothing to do")
	if n := s.Sim.Etcds(); n != 1 {
		t.Errorf("%d clusters of etcd have begun", n)
	}
	p.protected()
	p.run("cluster-apply").must(t, run.BadInput).says(t, "environment test is protected")
}
