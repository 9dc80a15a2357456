//go:build blackbox

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/drift"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/talosapi"
)

// byHand patches one node, as somebody does with talosctl.
func (h *home) byHand(node int, patch string) {
	t := h.t
	t.Helper()
	access, err := talosapi.NewAccess(machineSecrets(h.project))
	must.Do(t, err)
	loaded, err := configpatcher.LoadPatch([]byte(patch))
	must.Do(t, err)
	patched, err := configpatcher.Apply(configpatcher.WithConfig(h.Sim.Node(h.Addresses[node]).Config()), []configpatcher.Patch{loaded})
	must.Do(t, err)
	config, err := patched.Config()
	must.Do(t, err)
	must.Do(t, access.Change(t.Context(), h.Addresses[node], config))
}

// A drift check tells a change on a node apart from one that is not applied yet, and both from a node that does not
// answer. One issue follows it. Without the secrets of the machines, both say that the nodes were not asked. No secret
// is in any of it.
func TestBlackBoxClusterDrift(t *testing.T) {
	h, hub := newHome(t, 3), newHub(t)
	hub.on("schedule")
	canaries := clusterCanaries(h.project)
	maps.Copy(canaries, map[string]string{"by hand": "canary-by-hand", "of GitHub": "token-of-actions"})
	check := func(code int, headline string, texts []string, change ...func(*call)) drift.Check {
		t.Helper()
		e := h.stage("drift", canaries, change...).must(t, code).says(t, append(texts, "test: "+headline)...)
		issue := h.run("drift-issues", hub.options(map[string]ended{"test": e}, "test")).must(t, run.Done)
		public := issue.left(t)
		for _, i := range hub.Issues(repository) {
			public += fmt.Sprintf("%+v", i)
		}
		if found := leaked(public, canaries); len(found) > 0 {
			t.Errorf("the issue leaks %q:\n%s", found, public)
		}
		return e.check(t)
	}
	issue := func(open bool, texts ...string) {
		t.Helper()
		issues := hub.Issues(repository)
		last := issues[len(issues)-1]
		if last.Open != open {
			t.Errorf("open is %v: %+v", last.Open, last)
		}
		ended{stdout: last.Title + "\n" + last.Body}.says(t, texts...)
	}

	check(run.Changes, "does not match its code: 3 not applied yet", []string{"~ cluster.yaml: node-0 is not applied yet: create\n"})
	h.run("up").must(t, run.Done)
	if got := check(run.Done, "matches its code", nil); got.Cluster == nil || !got.Cluster.Clean() {
		t.Errorf("got %+v", got.Cluster)
	}
	issue(false, "matches its code")

	h.byHand(1, "machine: {sysctls: {vm.swappiness: \"25\"}, env: {HTTPS_PROXY: \"http://u:canary-by-hand@proxy\"}}\n")
	byHand := "! cluster.yaml: node-1 was changed (machine.sysctls.vm.swappiness: 10 → 25, machine.env.HTTPS_PROXY) on the node\n"
	got := check(run.Changes, "does not match its code: 1 changed in the cluster", []string{byHand})
	if len(got.Cluster.Changed) != 1 || got.Cluster.Changed[0].Address != "node-1" || got.Version != 1 {
		t.Errorf("got %+v", got.Cluster)
	}
	issue(true, "Environment test does not match its code: 1 changed in the cluster", "changed in the cloud or on a node", byHand)

	h.describe(2)
	h.write("environments/test/cluster.yaml", readFile(t, filepath.Join(h.dir, "environments/test/cluster.yaml"))+"evenControlPlanes: true\n")
	h.Sim.Node(h.Addresses[0]).Set(sim.Faults{Silent: true})
	check(run.Failed, "could not be checked for drift to the end: 2 changed in the cluster", []string{
		byHand, "! cluster.yaml: etcd has the member node-2, which is not a control plane in cluster.yaml\n", "cluster.yaml: node-2 is no longer in cluster.yaml, and keeps its configuration\n",
		"not every node of home could be asked: node-0 (it cannot be reached)", "hint: dagger call cluster status --env=test",
	})
	issue(true, "because the check fails", "node-0 (it cannot be reached)", byHand)
	h.Sim.Node(h.Addresses[0]).Set(sim.Faults{})
	h.describe(3)

	h.tune("20")
	by, _ := h.reviewed()
	const unasked = "cluster.yaml: the nodes were not asked, because the secrets of the machines need another key: compared with the record of run "
	check(run.Changes, "does not match its code: 3 not applied yet", []string{"~ cluster.yaml: node-1 is not applied yet: update (machine.sysctls.vm.swappiness: 10 → 20)\n", unasked}, by)
	h.tune("10")
	check(run.Done, "matches its code", []string{unasked}, by)
	issue(false, "the nodes were not asked")
	objects, err := h.bucket().List(t.Context(), "drift/")
	must.Do(t, err)
	for _, o := range objects {
		if found := leaked(string(h.get(o.Key)), canaries); len(found) > 0 {
			t.Errorf("%s in the bucket has %q", o.Key, found)
		}
	}
	if len(objects) != 1 || len(leaked(byHand+canaries["by hand"], canaries)) == 0 {
		t.Error("the search finds nothing")
	}
}
