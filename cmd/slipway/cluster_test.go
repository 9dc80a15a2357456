//go:build blackbox

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	machine "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/talos"
	"slipway/internal/testkit"
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
	p.run("plan").must(t, run.Changes).says(t, "cluster.yaml", "will be planned again when test has been applied")
	p.run("plan", ofCluster).must(t, run.BadInput).says(t, "the cluster home has no nodes")
	p.run("drift").must(t, run.Changes).says(t, "test: does not match its code: 2 not applied yet", "~ cluster.yaml: home is not applied yet: create\n")
	key := testkit.NewLoginKey(t)
	p.run("cluster-talosconfig", sealedWith(key)).must(t, run.BadInput).says(t, "the cluster home has no nodes", "hint: dagger call apply --env=test")
	if file := string(key.Open(t, p.run("cluster-kubeconfig", sealedWith(key)).must(t, run.Done).out)); !strings.Contains(file, "server: https://10.0.0.10:6443\n") {
		t.Error("without nodes, the kubeconfig has no server")
	}
	p.run("output", ofCluster).must(t, run.BadInput).says(t, `environment test has no layer "cluster.yaml"`)
	p.run("apply", func(o *call) { o.OnlyLayer = "test" }).must(t, run.Done)
	again := p.run("plan").must(t, run.Changes).says(t, "test: No changes.", "cluster.yaml: Plan: 1 to create.", "+   a\n        role: controlplane, address: 10.0.0.11, disk: /dev/sda\n")
	p.run("drift").must(t, run.Changes).says(t, "test: does not match its code: 1 not applied yet", "~ cluster.yaml: a is not applied yet: create\n")
	shown := p.run("cluster-config", func(o *call) { o.add("--node=a") }).must(t, run.Done).
		says(t, "a (controlplane, 10.0.0.11)\n", "machine.token: (hidden)\n", "machine.env.HTTPS_PROXY: (hidden)\n", "HostnameConfig: hostname: a\n")
	p.run("cluster-config", func(o *call) { o.add("--node=b") }).must(t, run.BadInput).says(t, `cluster home has no node "b"`, "hint: the nodes of test are a")

	if file := string(key.Open(t, p.run("cluster-talosconfig", sealedWith(key)).must(t, run.Done).out)); !strings.Contains(file, "endpoints:\n            - 10.0.0.11\n") {
		t.Error("the talosconfig does not name the node that a layer lists")
	}

	canaries := clusterCanaries(p)
	for stage, e := range map[string]ended{"cluster-secrets": made, "secrets-check": checked, "cluster-config": shown, "plan": again} {
		if found := leaked(e.left(t), canaries); len(found) > 0 {
			t.Errorf("%s leaks %q:\n%s%s", stage, found, e.stdout, e.stderr)
		}
	}
	p.write("environments/test/cluster.yaml", "name: home\n")
	p.run("environments").must(t, run.BadInput).says(t, "environments/test/cluster.yaml: talos is \"\"")
}

// machineSecrets are the secrets of a project's machines.
func machineSecrets(p *project) *machine.Bundle {
	p.t.Helper()
	plain, err := secrets.OpenDocument(sealedMachines, []byte(readFile(p.t, filepath.Join(p.dir, sealedMachines))), p.reader())
	must.Do(p.t, err)
	contract, err := talos.Contract("v1.14.1")
	must.Do(p.t, err)
	bundle, err := talos.ReadSecrets(plain, contract)
	must.Do(p.t, err)
	return bundle
}

// clusterCanaries are the secrets of a project's machines, and those of its other files.
func clusterCanaries(p *project) map[string]string {
	p.t.Helper()
	canaries := map[string]string{"of a patch": "canary-in-a-patch", "the age identity": p.key.String()}
	for i, value := range talos.SecretsOf(machineSecrets(p)) {
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

// ofCluster limits a stage to the cluster.
func ofCluster(o *call) { o.OnlyLayer = "cluster.yaml" }

// stage runs one on the cluster. Nothing secret is shown or left.
func (h *home) stage(name string, canaries map[string]string, change ...func(*call)) ended {
	h.t.Helper()
	if name == "plan" || name == "apply" {
		change = append(change, ofCluster)
	}
	e := h.run(name, change...)
	if found := leaked(e.left(h.t), canaries); len(found) > 0 {
		h.t.Errorf("%s leaks %q:\n%s%s", name, found, e.stdout, e.stderr)
	}
	return e
}

// asWanted checks that nothing is left to do, and that there is one etcd.
func (h *home) asWanted() {
	h.t.Helper()
	h.run("cluster-health").must(h.t, run.Done)
	h.run("plan", ofCluster).must(h.t, run.Done).says(h.t, "cluster.yaml: No changes.")
	if n := h.Sim.Etcds(); n != 1 {
		h.t.Errorf("%d clusters of etcd have begun", n)
	}
}

// The whole life of a cluster: its secrets, its first configuration, etcd, a changed setting, a node more. A
// stage that is repeated does nothing.
func TestBlackBoxClusterLife(t *testing.T) {
	h := newHome(t, 4)
	canaries := clusterCanaries(h.project)
	stage := func(name string, change ...func(*call)) ended { return h.stage(name, canaries, change...) }
	stage("cluster-status").must(t, run.Done).says(t, "maintenance")
	stage("cluster-health").must(t, run.Failed).says(t, "node-0 is maintenance")
	stage("cluster-bootstrap").must(t, run.BadInput).says(t, "not every node of home has its configuration", "hint: dagger call cluster apply --env=test")
	stage("plan").must(t, run.Changes).says(t, "cluster.yaml: Plan: 3 to create.", "compared with the nodes themselves")
	stage("apply").must(t, run.Done).says(t, "node-0: configured\nnode-1: configured\nnode-2: configured\nhome: every node has its configuration, and etcd has not begun")
	stage("cluster-bootstrap").must(t, run.Done).says(t, "node-0: bootstrapped\nhome: etcd runs on every control plane: node-0, node-1, node-2\n")
	stage("cluster-bootstrap").must(t, run.Done).says(t, "home: nothing to do")
	stage("apply").must(t, run.Done).says(t, "home: nothing to do")
	h.asWanted()

	h.tune("20")
	stage("plan").must(t, run.Changes).says(t, "cluster.yaml: Plan: 3 to update.", "~   node-0\n        machine.sysctls.vm.swappiness: 10 → 20\n")
	stage("apply").must(t, run.Done).says(t, "node-0: 1 setting changed\n", "node-1: 1 setting changed\n", "node-2: 1 setting changed\n")
	h.describe(4)
	h.run("plan").must(t, run.Changes).says(t, "test: No changes.", "cluster.yaml: Plan: 1 to create.")
	h.run("apply").must(t, run.Done).says(t, "node-3: configured\n")
	h.asWanted()
	h.describe(3)
	stage("plan").must(t, run.Done).says(t, "warning: node-3 is no longer in cluster.yaml, and keeps its configuration")
	h.run("apply", func(o *call) { o.OnlyLayer = "test"; o.add("--quorum-lost") }).must(t, run.BadInput).says(t, "this apply works on none", "hint: dagger call cluster apply --env=test --quorum-lost")
	h.run("destroy", confirm).must(t, run.Done)
	if objects, err := h.bucket().List(t.Context(), "test/cluster.json"); err != nil || len(objects) > 0 {
		t.Errorf("the record is left: %v", err)
	}
}

// up takes a cluster from nothing to running, and is safe to repeat.
func TestBlackBoxClusterUp(t *testing.T) {
	h := newHome(t, 3)
	h.run("up").must(t, run.Done).says(t, "cluster    3 changed")
	h.run("up").must(t, run.Done).says(t, "cluster    no change")
	h.asWanted()
}

// An environment with a cluster can do without layers.
func TestBlackBoxClusterAlone(t *testing.T) {
	h := newHome(t, 3)
	must.Do(t, os.Remove(filepath.Join(h.dir, "environments/test/main.tf")))
	h.run("plan").must(t, run.BadInput).says(t, `layer "." has no .tf file in environments/test`)
	h.write("environments/test/environment.yaml", "layers: []\n"+readFile(t, filepath.Join(h.dir, "environments/test/environment.yaml")))
	h.run("up").must(t, run.Done).says(t, "cluster    3 changed")
	h.asWanted()
	h.tune("20")
	h.run("plan").must(t, run.Changes).says(t, "cluster.yaml: Plan: 3 to update.")
	h.run("apply").must(t, run.Done).says(t, "node-0: 1 setting changed\n")
	h.run("recover").must(t, run.Done)
	h.run("drift").must(t, run.Done)
	h.run("destroy", confirm).must(t, run.Done)
	must.Do(t, os.Remove(filepath.Join(h.dir, "environments/test/cluster.yaml")))
	h.run("plan").must(t, run.BadInput).says(t, "layers is empty, and environments/test has no cluster.yaml either")
}

// reviewed makes the environment a protected one with a reviewer, and with credentials for plans that do not
// open the secrets of the machines.
func (h *home) reviewed() (by, sign func(*call)) {
	t := h.t
	t.Helper()
	planner, err := age.GenerateX25519Identity()
	must.Do(t, err)
	data, err := secrets.Seal("credentials/test-plan.enc.env", h.secret, []string{planner.Recipient().String(), h.key.Recipient().String()})
	must.Do(t, err)
	h.write("credentials/test-plan.enc.env", string(data))
	keys := t.TempDir()
	h.file(filepath.Join(keys, "planner"), planner.String()+"\n")
	out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "alice", "-f", filepath.Join(keys, "alice")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h.write("environments/test/environment.yaml", fmt.Sprintf("protected: true\ncredentials: [test]\nplan: {credentials: [test-plan]}\nreviewers:\n  - %s\nstate:\n  s3: {bucket: slipway-test, region: us-east-1, endpoint: %q}\n",
		strings.TrimSpace(readFile(t, filepath.Join(keys, "alice.pub"))), h.store.URL))
	return func(o *call) { o.IdentityFile = filepath.Join(keys, "planner") }, func(o *call) { o.add("--signing-key=" + filepath.Join(keys, "alice")) }
}

// A change of a cluster is planned with the key for plans, approved by a reviewer, and applied exactly.
func TestBlackBoxClusterReviewed(t *testing.T) {
	h := newHome(t, 4)
	canaries := clusterCanaries(h.project)
	by, sign := h.reviewed()
	review := func(code int, texts ...string) ended {
		t.Helper()
		planned := h.stage("plan", canaries, keep, by).must(t, run.Changes).says(t, texts...)
		h.stage("apply", canaries).must(t, run.BadInput).says(t, "nobody has signed it", "hint: dagger call approve --env=test --layer=cluster.yaml --digest="+planned.result.Digest)
		h.run("approve", ofCluster, seen(planned), sign, by).must(t, run.Done).says(t, "next: dagger call apply --env=test --layer=cluster.yaml --digest=")
		return h.stage("apply", canaries, seen(planned)).must(t, code)
	}
	review(run.Done, "cluster.yaml: Plan: 3 to create.", "no apply is on record").says(t, "cluster.yaml: the plan of run ", "node-2: configured")
	h.run("cluster-bootstrap").must(t, run.Done)
	h.run("plan", by).must(t, run.Done).says(t, "cluster.yaml: No changes.")

	h.tune("20")
	review(run.Done, "cluster.yaml: Plan: 3 to update.", "compared with the record of run ", "machine.sysctls.vm.swappiness: 10 → 20").says(t, "node-2: 1 setting changed\n")
	h.run("plan", by).must(t, run.Done).says(t, "cluster.yaml: No changes.")

	// One digest for the layer and the cluster.
	h.write("environments/test/main.tf", "terraform {\n  backend \"s3\" {}\n}\nresource \"terraform_data\" \"one\" {}\n")
	h.describe(4)
	planned := h.run("plan", keep, by).must(t, run.Changes).says(t, "test: Plan: 1 to create.", "cluster.yaml: Plan: 1 to create.")
	h.run("approve", seen(planned), sign, by).must(t, run.Done)
	h.run("apply", seen(planned)).must(t, run.Done).says(t, "node-3: configured\n", "terraform_data.one create done")
	h.asWanted()

	// Somebody changes a node by hand between the plan and the apply.
	h.tune("30")
	planned = h.stage("plan", canaries, keep, by).must(t, run.Changes)
	h.run("approve", ofCluster, seen(planned), sign, by).must(t, run.Done)
	const settings = "environments/test/environment.yaml"
	text := readFile(t, filepath.Join(h.dir, settings))
	h.tune("25")
	h.write(settings, regexp.MustCompile(`(?s)protected: true\n|reviewers:\n[^\n]*\n`).ReplaceAllString(text, ""))
	h.run("apply", ofCluster).must(t, run.Done)
	h.tune("30")
	h.write(settings, text)
	h.stage("apply", canaries, seen(planned)).must(t, run.BadInput).says(t, "node-0 has changed since it was planned: its machine.sysctls.vm.swappiness is now 25", "hint: dagger call plan --env=test --layer=cluster.yaml --keep")
	for _, address := range h.Addresses {
		if config, err := h.Sim.Node(address).Config().EncodeString(); err != nil || !strings.Contains(config, "vm.swappiness: \"25\"") {
			t.Errorf("%s was changed: %v", address, err)
		}
	}
	objects, err := h.bucket().List(t.Context(), "")
	must.Do(t, err)
	for _, o := range objects {
		if found := leaked(string(h.get(o.Key)), canaries); len(found) > 0 {
			t.Errorf("%s in the bucket has %q", o.Key, found)
		}
	}
}

// Runs are killed at each call that changes a machine: before it reaches the machine, and after. The same
// stage then ends in the same place, and no second etcd begins. The second apply is of a reviewed plan.
func TestBlackBoxClusterKilled(t *testing.T) {
	t.Parallel()
	const calls = 3 + 1 + 2*3 // configured, begun, and asked and changed
	for nth := range calls {
		for _, reached := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, reached %t", nth+1, reached), func(t *testing.T) {
				h := newHome(t, 3)
				var lock sync.Mutex
				var process *os.Process
				seenCalls := 0
				h.Sim.Calls = func(_, method string) error {
					lock.Lock()
					defer lock.Unlock()
					if !strings.HasSuffix(method, "/ApplyConfiguration") && !strings.HasSuffix(method, "/Bootstrap") {
						return nil
					}
					if seenCalls++; seenCalls != nth+1 {
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
				stage := func(name string, change ...func(*call)) {
					t.Helper()
					o := h.options(name)
					for _, f := range change {
						f(&o)
					}
					lock.Lock()
					cmd := h.start(o, io.Discard)
					process = cmd.Process
					lock.Unlock()
					if err := cmd.Wait(); err != nil {
						killed++
						h.run(name, append(change, dead)...).must(t, run.Done)
					}
				}
				stage("apply", ofCluster)
				stage("cluster-bootstrap")
				h.tune("20")
				planned := h.run("plan", ofCluster, keep).must(t, run.Changes)
				stage("apply", ofCluster, seen(planned))
				if killed != 1 {
					t.Errorf("%d runs were killed, by %d calls", killed, seenCalls)
				}
				h.asWanted()
			})
		}
	}
}
