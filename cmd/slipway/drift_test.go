//go:build blackbox

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/internal/drift"
	"slipway/internal/run"
)

func (e ended) check(t *testing.T) drift.Check {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(e.out, "drift.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c drift.Check
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// A check tells what changed in the cloud apart from what was not applied, and
// neither from not knowing.
func TestBlackBoxDrift(t *testing.T) {
	p := newProject(t, "")
	c := p.onCloud()
	p.run("drift").must(t, run.BadInput).says(t, "test: could not be checked", "has not been prepared")
	p.run("up").must(t, run.Done)

	expect := func(e ended, status drift.Status, hits int) {
		t.Helper()
		if got := e.check(t); got.Status != status || got.Hits != hits || got.Environment != "test" {
			t.Errorf("got %+v, want %s for the %d. time", got, status, hits)
		}
	}
	expect(p.run("drift").must(t, run.Done).says(t, "test: matches its code"), drift.Clean, 1)
	expect(p.run("drift").must(t, run.Done), drift.Clean, 2)

	c.call(http.MethodDelete, "/compute/v2.1/os-keypairs/operator", "", http.StatusAccepted)
	for hits := range 2 {
		e := p.run("drift").must(t, run.Changes).says(t, "test: does not match its code: 1 changed in the cloud", "! openstack_compute_keypair_v2.operator was deleted in the cloud")
		expect(e, drift.Drifted, hits+1)
	}
	p.write("environments/test/main.tf", c.code("operator", "second"))
	p.run("drift").must(t, run.Changes).says(t, "1 changed in the cloud, 1 not applied yet", "~ openstack_compute_keypair_v2.second is not applied yet: create")
	p.run("apply").must(t, run.Done)
	expect(p.run("drift").must(t, run.Done), drift.Clean, 1)
	p.write("environments/test/main.tf", c.code("operator"))
	p.run("drift").must(t, run.Changes).says(t, "does not match its code: 1 not applied yet", "second is not applied yet: delete")
	p.run("apply").must(t, run.Done)

	// An environment that cannot be checked is not clean.
	p.secret["OS_PASSWORD"] = ""
	p.seal()
	expect(p.run("drift").must(t, run.Failed).says(t, "test: could not be checked"), drift.Unchecked, 1)
	if got := p.run("drift").must(t, run.Failed).check(t); got.Error == "" || got.Hits != 2 {
		t.Errorf("got %+v", got)
	}
}

// An expected change is not drift until its date has passed.
func TestBlackBoxDriftExpected(t *testing.T) {
	p := newProject(t, "")
	c := p.onCloud()
	p.run("up").must(t, run.Done)
	c.call(http.MethodDelete, "/compute/v2.1/os-keypairs/operator", "", http.StatusAccepted)
	file, err := os.ReadFile(filepath.Join(p.dir, "environments/test/environment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ignore := func(until string) {
		p.write("environments/test/environment.yaml", string(file)+
			"drift:\n  after: 2\n  ignore:\n    - {address: openstack_compute_keypair_v2.operator, until: "+until+", reason: a test}\n")
	}
	ignore("2999-12-31")
	p.run("drift").must(t, run.Done).says(t, "test: matches its code", "openstack_compute_keypair_v2.operator has changed, as environment.yaml expects")
	ignore("2026-01-31")
	e := p.run("drift").must(t, run.Changes).says(t, "operator was deleted in the cloud", "is still in drift.ignore, but the entry has expired")
	if got := e.check(t); got.After != 2 || got.Hits != 1 || len(got.Expired) != 1 {
		t.Errorf("got %+v", got)
	}
}

// A change in the cloud that the code leaves as it is, is reported by a drift check, although
// there is nothing to plan.
func TestBlackBoxDriftLeft(t *testing.T) {
	p := newProject(t, "")
	c := p.onCloud()
	p.write("environments/test/main.tf", c.code()+"resource \"openstack_networking_network_v2\" \"one\" {\n  name = \"one\"\n  lifecycle {\n    ignore_changes = [name]\n  }\n}\n")
	p.run("up").must(t, run.Done)
	var list struct {
		Networks []struct{ ID, Name string }
	}
	if err := json.Unmarshal(c.call(http.MethodGet, "/network/v2.0/networks?name=one", "", http.StatusOK), &list); err != nil || len(list.Networks) != 1 {
		t.Fatalf("the cloud has %+v, %v", list, err)
	}
	c.call(http.MethodPut, "/network/v2.0/networks/"+list.Networks[0].ID, `{"network": {"name": "another"}}`, http.StatusOK)
	p.run("plan").must(t, run.Done).says(t, "No changes")
	p.run("drift").must(t, run.Done).says(t, "openstack_networking_network_v2.one was changed (name: one → another) in the cloud")
}

// Two plans in a row start the provider each time, and its secrets stay with it.
func TestBlackBoxProviderSecrets(t *testing.T) {
	p := newProject(t, "")
	c := p.onCloud()
	p.run("up").must(t, run.Done)
	for range 2 {
		e := p.run("plan").must(t, run.Done)
		if c.started() == 0 {
			t.Error("the provider was not started")
		}
		if strings.Contains(e.stdout+e.stderr, p.secret["OS_PASSWORD"]) {
			t.Error("the password is shown")
		}
	}
}
