//go:build blackbox

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ovh/go-ovh/ovh"

	"slipway/dev/cloudsim/faults"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

const databaseProject = "0123456789abcdef0123456789abcdef"

// newDatabase is a system whose code has the managed database alone. Nothing of
// OpenStack is among its credentials.
func newDatabase(t *testing.T) *system {
	t.Helper()
	s := newSystem(t)
	s.write("environments/test/main.tf", `
provider "ovh" {}

module "database" {
  source = "../../modules/managed_db"

  environment         = "test"
  project_id          = "`+databaseProject+`"
  region              = "GRA"
  network_id          = "11111111-1111-4111-8111-111111111111"
  subnet_id           = "22222222-2222-4222-8222-222222222222"
  cidr                = "10.1.0.0/24"
  databases           = ["app"]
  users               = {}
  deletion_protection = false
}
`)
	s.write("environments/test/outputs.tf", "")
	for name := range s.secret {
		if strings.HasPrefix(name, "OS_") {
			delete(s.secret, name)
		}
	}
	s.seal()
	s.run("bootstrap").must(t, run.Done)
	return s
}

// replace changes a file of the repository.
func (p *project) replace(name, old, new string) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	if strings.Count(string(data), old) != 1 {
		p.t.Fatalf("%s does not have %q once", name, old)
	}
	p.write(name, strings.Replace(string(data), old, new, 1))
}

// account asks OVH as somebody beside OpenTofu would.
func (s *system) account() *ovh.Client {
	s.t.Helper()
	client, err := ovh.NewClient(s.secret["OVH_ENDPOINT"], "key", s.secret["OVH_APPLICATION_SECRET"], "consumer")
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

const clustersPath = "/cloud/project/" + databaseProject + "/database/postgresql"

// clusters are the ids of the databases that OVH has.
func (s *system) clusters() (ids []string) {
	s.t.Helper()
	if err := s.account().Get(clustersPath, &ids); err != nil {
		s.t.Fatal(err)
	}
	return ids
}

// importing has the code take the one database that OVH has into the state.
func (s *system) importing() {
	s.t.Helper()
	ids := s.clusters()
	if len(ids) != 1 {
		s.t.Fatalf("OVH has %v", ids)
	}
	s.write("environments/test/import.tf", "import {\n  to = module.database.ovh_cloud_project_database.postgresql\n  id = \""+databaseProject+"/postgresql/"+ids[0]+"\"\n}\n")
}

// stuck has the next database that is made end in that status.
func (s *system) stuck(status string) {
	s.t.Helper()
	rule := faults.Rule{Method: http.MethodPost, Path: "/database/postgresql$", Set: map[string]string{"status": status}, Times: 1}
	if err := s.rules.Replace([]faults.Rule{rule}); err != nil {
		s.t.Fatal(err)
	}
}

// The state of an environment of databases is shown without OpenStack, and stop says
// what it does not stop.
func TestBlackBoxDatabaseStatus(t *testing.T) {
	testkit.Deep(t, "the provider asks every ten seconds whether a database is ready")
	s := newDatabase(t)
	s.replace("environments/test/main.tf", `["app"]`, "[]") // which would take ten seconds
	var made struct{ ID string }
	wish := map[string]any{
		"description": "test-postgresql", "version": "17", "plan": "essential", "networkId": "11111111-1111-4111-8111-111111111111", "subnetId": "22222222-2222-4222-8222-222222222222",
		"nodesPattern": map[string]any{"flavor": "db1-4", "number": 1, "region": "GRA"}, "ipRestrictions": []map[string]any{{"ip": "10.1.0.0/24", "description": "the private network"}},
	}
	if err := s.account().Post(clustersPath, wish, &made); err != nil {
		t.Fatal(err)
	}
	if err := s.databases.Repair(); err != nil { // it is ready at once
		t.Fatal(err)
	}
	s.importing()
	s.run("apply").must(t, run.Done)
	s.run("status").must(t, run.Done).says(t, "NAME             STATUS  ADDRESS",
		"test-postgresql  ready   postgresql-"+made.ID[:8]+".database.gra.invalid:20184  module.database.ovh_cloud_project_database.postgresql\n")
	s.run("stop").must(t, run.Done).says(t, "test has no servers\n", "test-postgresql is a managed database: it cannot be stopped, keeps running and is still charged\n")
	if e := s.run("start").must(t, run.Done).says(t, "test has no servers\n"); strings.Contains(e.stdout, "postgresql") {
		t.Errorf("start speaks of the database:\n%s", e.stdout)
	}

	for _, c := range []struct{ variable, value, says string }{
		{"OVH_CONSUMER_KEY", "", "the credentials of test have no OVH_CONSUMER_KEY, which is needed to find its databases"},
		{"OVH_ENDPOINT", "ovh-xx", "the credentials of test: OVH_ENDPOINT is \"ovh-xx\", which is neither a URL nor one of"},
	} {
		right := s.secret[c.variable]
		s.secret[c.variable] = c.value
		s.seal()
		s.run("status").must(t, run.BadInput).says(t, c.says, "hint: dagger call secrets set --file=credentials/test.enc.env --variable="+c.variable)
		s.secret[c.variable] = right
	}
	s.seal()

	if err := s.account().Delete(clustersPath+"/"+made.ID, nil); err != nil {
		t.Fatal(err)
	}
	soon.Wait(t, "the cluster is gone", func() bool { return len(s.clusters()) == 0 })
	s.run("status").must(t, run.Done).says(t, "test-postgresql  gone             module.database.ovh_cloud_project_database.postgresql\n")
}

// A database that does not become ready ends the apply with what to do. Its provider
// has forgotten it: recover takes it in as it is, no apply makes another, and one goes
// on when it is ready.
func TestBlackBoxDatabaseNeverReady(t *testing.T) {
	testkit.Deep(t, "the provider asks every ten seconds whether a database is ready")
	s := newDatabase(t)
	s.replace("modules/managed_db/service.tf", `create = "45m"`, `create = "5s"`)
	s.stuck("CREATING")
	e := s.run("apply").must(t, run.Failed)
	id := s.clusters()[0]
	e.says(t, "error: timeout while waiting database "+id+" to be READY",
		"module.database.ovh_cloud_project_database.postgresql was ordered but did not become ready", "dagger call recover --env=test")
	s.run("apply").must(t, run.BadInput).says(t, "was interrupted", "hint: dagger call recover --env=test")
	s.run("recover").must(t, run.Done).says(t, "module.database.ovh_cloud_project_database.postgresql was created: importing it into the state",
		"module.database.ovh_cloud_project_database.postgresql is not ready, so nothing was made that depends on it")
	s.run("recover").must(t, run.Done).says(t, "nothing was interrupted")
	s.run("status").must(t, run.Done).says(t, "test-postgresql  creating           module.database")
	s.run("apply").must(t, run.Failed).says(t, "test-postgresql ("+id+") is CREATING and not ready: apply again when status says ready")
	if err := s.databases.Repair(); err != nil {
		t.Fatal(err)
	}
	s.run("apply").must(t, run.Done).says(t, "1 to create")
	s.run("plan").must(t, run.Done).says(t, "No changes")
	if ids := s.clusters(); len(ids) != 1 {
		t.Errorf("OVH has %v", ids)
	}
}

// A database that fails ends the apply long before its timeout. It can be imported, and destroyed.
func TestBlackBoxDatabaseFails(t *testing.T) {
	testkit.Deep(t, "the provider asks every ten seconds whether a database is ready")
	s := newDatabase(t)
	s.stuck("ERROR")
	e := s.run("apply").must(t, run.Failed)
	e.says(t, "error: timeout while waiting database "+s.clusters()[0]+" to be READY: unexpected state 'ERROR', wanted target 'READY'", "dagger call recover --env=test")
	s.run("recover").must(t, run.Done)
	s.run("status").must(t, run.Done).says(t, "test-postgresql  error   postgresql-")
	s.run("apply").must(t, run.Failed).says(t, "is ERROR and not READY")
	s.run("destroy", confirm).must(t, run.Done)
	if ids := s.clusters(); len(ids) != 0 {
		t.Errorf("OVH has %v", ids)
	}
}

// What OVH refused was not made: there is nothing to recover.
func TestBlackBoxDatabaseRefused(t *testing.T) {
	testkit.Deep(t, "the provider asks every ten seconds whether a database is ready")
	s := newDatabase(t)
	s.replace("modules/managed_db/service.tf", `create = "45m"`, `create = "5s"`)
	if err := s.rules.Replace([]faults.Rule{{Method: http.MethodPost, Path: "/database/postgresql$", Status: http.StatusForbidden}}); err != nil {
		t.Fatal(err)
	}
	if e := s.run("apply").must(t, run.Failed).says(t, "(status code 403)"); strings.Contains(e.stderr, "recover") {
		t.Errorf("it asks for recover:\n%s", e.stderr)
	}
	// Its answer is lost: it may have been made, and was.
	if err := s.rules.Replace([]faults.Rule{{Method: http.MethodPost, Path: "/database/postgresql$", Status: http.StatusBadGateway, AfterEffect: true}}); err != nil {
		t.Fatal(err)
	}
	s.run("apply").must(t, run.Failed).says(t, "dagger call recover --env=test")
	s.run("recover").must(t, run.Done).says(t, "importing it into the state")
	s.run("apply").must(t, run.Done).says(t, "1 to create")
	if ids := s.clusters(); len(ids) != 1 {
		t.Errorf("OVH has %v", ids)
	}
}
