//go:build blackbox

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway/dev/cloudsim/faults"
	"slipway/dev/cloudsim/openstack"
	"slipway/dev/cloudsim/ovh"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/testkit/openssh"
)

// A system is environment test as it is in the repository, with its endpoints pointing at clouds in
// this process.
type system struct {
	*project
	url       string
	rules     *faults.Rules
	databases *ovh.Cloud
}

func newSystem(t *testing.T) *system {
	t.Helper()
	p := newProject(t, "")
	stack, err := openstack.Open(filepath.Join(t.TempDir(), "openstack.bolt"), "/-/openstack")
	if err != nil {
		t.Fatal(err)
	}
	databases, err := ovh.Open(filepath.Join(t.TempDir(), "ovh.bolt"), "/-/ovh")
	if err != nil {
		t.Fatal(err)
	}
	stack.Pace, databases.Pace = 50*time.Millisecond, 50*time.Millisecond
	rules := &faults.Rules{}
	server := httptest.NewServer(rules.Around(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/-/ovh/") {
			databases.ServeHTTP(w, r)
			return
		}
		stack.ServeHTTP(w, r)
	})))
	t.Cleanup(func() {
		server.Close()
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
		if err := databases.Close(); err != nil {
			t.Error(err)
		}
	})
	const repository = "../../"
	for _, folder := range []string{"modules", "environments/test"} {
		if err := os.RemoveAll(filepath.Join(p.dir, folder)); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(p.dir, folder), os.DirFS(repository+folder)); err != nil {
			t.Fatal(err)
		}
	}
	settings, err := os.ReadFile(repository + "environments/test/environment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.write("environments/test/environment.yaml", strings.NewReplacer(
		"https://s3.eu-west-par.io.cloud.ovh.net", p.store.URL, "credentials: [test-plan, test]\nplan: {credentials: [test-plan]}\n", "credentials: [test]\n", "acme-test-tfstate", "slipway-test").Replace(string(settings)))
	p.providers = repository + ".slipway/providers"
	if _, err := os.Stat(p.providers); err != nil {
		t.Fatalf("the providers are not there (%v): make test puts them there", err)
	}
	private, public := openssh.NewKey(t)
	for name, value := range map[string]string{
		"OS_AUTH_URL": server.URL + "/-/openstack/identity/v3/", "OS_REGION_NAME": openstack.Region, "OS_TENANT_NAME": "slipway",
		"OS_USER_DOMAIN_NAME": "Default", "OS_USERNAME": "cloud-user", "OS_PASSWORD": "cloud-password-of-the-tests",
		"OVH_ENDPOINT": server.URL + "/-/ovh", "OVH_APPLICATION_KEY": "ovh-key", "OVH_APPLICATION_SECRET": ovh.Secret, "OVH_CONSUMER_KEY": "ovh-consumer-key",
		"TF_VAR_ssh_public_key": public, "TF_VAR_host_key": private, "TF_VAR_host_key_public": public,
	} {
		p.secret[name] = value
	}
	p.seal()
	return &system{p, server.URL, rules, databases}
}

// servers is how many servers the cloud has.
func (s *system) servers() int {
	s.t.Helper()
	response, err := http.Get(s.url + openstack.ServersPath)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Count(string(text), `"name":"test-backend"`)
}

// The unchanged root of environment test is applied, leaves nothing to change, and is destroyed.
func TestBlackBoxSystem(t *testing.T) {
	s := newSystem(t)
	s.run("up").must(t, run.Done).says(t, "23 to create", "test-backend", "database_uris = (sensitive)", "not waiting for the hosts")
	s.run("plan").must(t, run.Done).says(t, "No changes")
	s.run("drift").must(t, run.Done).says(t, "test: matches its code")
	s.run("status").must(t, run.Done).says(t, "test-backend     active  203.0.113.", "test-postgresql  ready   postgresql-", ".database.gra.invalid:20184  module.database.ovh_cloud_project_database.postgresql\n")
	s.run("stop").must(t, run.Done).says(t, "test-backend is stopped", "test-postgresql is a managed database: it cannot be stopped, keeps running and is still charged")
	s.run("stop").must(t, run.Done)
	s.run("status").must(t, run.Done).says(t, "test-backend     shutoff  203.0.113.", "test-postgresql  ready    postgresql-")
	s.run("start").must(t, run.Done).says(t, "test-backend is started")
	s.run("destroy", confirm).must(t, run.Done).says(t, "23 to delete")
	s.run("status").must(t, run.Done).says(t, "test has no servers and no databases")
	if n := s.servers(); n != 0 {
		t.Errorf("%d servers are left", n)
	}
}

// Faults of the cloud in the middle of an apply end it with a clear message, and the
// next one goes on from there.
func TestBlackBoxSystemFaults(t *testing.T) {
	testkit.Deep(t, "it waits for faults to be noticed")
	s := newSystem(t)
	// No database: its provider waits half a minute.
	code, err := os.ReadFile(filepath.Join(s.dir, "environments/test/main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(code), "module \"database\"")
	if !found {
		t.Fatal("main.tf has no database")
	}
	s.write("environments/test/main.tf", before)
	s.write("environments/test/outputs.tf", "")
	s.run("bootstrap").must(t, run.Done)
	rule := func(r faults.Rule) {
		t.Helper()
		if err := s.rules.Replace([]faults.Rule{r}); err != nil {
			t.Fatal(err)
		}
	}
	const create = "/compute/v2.1/servers$"

	clouds := &cloud{t: t, url: s.url + "/-/openstack"}
	quota := func(instances string) {
		t.Helper()
		clouds.call(http.MethodPut, "/compute/v2.1/os-quota-sets/0123456789abcdef0123456789abcdef", `{"quota_set": {"instances": `+instances+`}}`, http.StatusOK)
	}
	quota("0")
	s.run("apply").must(t, run.Failed).says(t, "Quota exceeded for instances", "tofu apply of test failed")
	quota("10")
	rule(faults.Rule{Method: http.MethodPost, Path: create, Set: map[string]string{"status": "ERROR", "message": "No valid host was found."}, Times: 1})
	s.run("apply").must(t, run.Failed).says(t, "ERROR", "module.backend.openstack_compute_instance_v2.host")
	rule(faults.Rule{Method: http.MethodPost, Path: "/security-group-rules$", Status: http.StatusInternalServerError, Times: 1})
	s.run("apply").says(t, "test: Plan:")
	rule(faults.Rule{Method: http.MethodGet, Path: "/network/", Status: http.StatusTooManyRequests, RetryAfter: 1, Times: 2})
	s.run("apply").must(t, run.Done)
	s.run("plan").must(t, run.Done).says(t, "No changes")
	if n := s.servers(); n != 1 {
		t.Errorf("there are %d servers", n)
	}
	s.run("destroy", confirm).must(t, run.Done)
	if n := s.servers(); n != 0 {
		t.Errorf("%d servers are left", n)
	}
}
