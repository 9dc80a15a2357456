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
