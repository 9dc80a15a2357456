package ovh

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	client "github.com/ovh/go-ovh/ovh"

	"slipway/dev/cloudsim/faults"
	sim "slipway/dev/cloudsim/ovh"
	"slipway/internal/testkit/soon"
)

const project = "0123456789abcdef0123456789abcdef"

// fresh is an account on a simulated cloud, and the rules of what goes wrong there.
func fresh(t *testing.T) (*Account, *faults.Rules) {
	t.Helper()
	cloud, err := sim.Open(filepath.Join(t.TempDir(), "ovh.bolt"), "/-/ovh")
	if err != nil {
		t.Fatal(err)
	}
	cloud.Pace = 20 * time.Millisecond
	rules := &faults.Rules{}
	server := httptest.NewServer(rules.Around(cloud))
	t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	account, err := Connect(variables(server.URL + "/-/ovh"))
	if err != nil {
		t.Fatal(err)
	}
	return account, rules
}

func variables(endpoint string) map[string]string {
	return map[string]string{"OVH_ENDPOINT": endpoint, "OVH_APPLICATION_KEY": "key", "OVH_APPLICATION_SECRET": sim.Secret, "OVH_CONSUMER_KEY": "consumer"}
}

// create makes a database, and returns its id.
func (a *Account) create(t *testing.T, name string) string {
	t.Helper()
	var made struct{ ID string }
	err := a.api.Post(path(project, "postgresql"), map[string]any{
		"description": name, "version": "17", "plan": "essential",
		"nodesPattern": map[string]any{"flavor": "db1-4", "number": 1, "region": "GRA"},
	}, &made)
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// await asks until the database has that status.
func (a *Account) await(t *testing.T, id, status string) Database {
	t.Helper()
	var d Database
	soon.Wait(t, id+" is "+status, func() bool {
		var err error
		if d, err = a.Get(t.Context(), project, "postgresql", id); err != nil {
			t.Fatal(err)
		}
		return d.Status == status
	})
	return d
}

func TestGet(t *testing.T) {
	t.Parallel()
	account, _ := fresh(t)
	id := account.create(t, "test-postgresql")
	d := account.await(t, id, "READY")
	host, port, err := net.SplitHostPort(d.Address)
	if d.ID != id || d.Name != "test-postgresql" || err != nil || port != "20184" || !strings.HasPrefix(host, "postgresql-"+id[:8]) {
		t.Errorf("%+v, %v", d, err)
	}
	if err := account.api.Delete(path(project, "postgresql", id), nil); err != nil {
		t.Fatal(err)
	}
	if d := account.await(t, id, Gone); d.ID != id || d.Address != "" {
		t.Errorf("%+v", d)
	}
	if d, err := account.Get(t.Context(), "another", "postgresql", "../../x"); err != nil || d.Status != Gone {
		t.Errorf("%+v, %v", d, err)
	}
}

// A status other than READY is reported as OVH returns it.
func TestStuck(t *testing.T) {
	t.Parallel()
	account, rules := fresh(t)
	for _, status := range []string{"CREATING", "ERROR", "ERROR_INCONSISTENT_SPEC"} {
		if err := rules.Replace([]faults.Rule{{Method: "POST", Set: map[string]string{"status": status}}}); err != nil {
			t.Fatal(err)
		}
		account.await(t, account.create(t, "test-postgresql"), status)
	}
}

// An error is reported immediately: nothing is retried forever.
func TestFaults(t *testing.T) {
	t.Parallel()
	account, rules := fresh(t)
	id := account.create(t, "test-postgresql")
	for _, status := range []int{http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError} {
		if err := rules.Replace([]faults.Rule{{Path: "/database/", Status: status}}); err != nil {
			t.Fatal(err)
		}
		_, err := account.Get(t.Context(), project, "postgresql", id)
		var refused *client.APIError
		if !errors.As(err, &refused) || refused.Code != status || !strings.Contains(err.Error(), "query database "+id) {
			t.Errorf("%d: %v", status, err)
		}
		if asked := rules.Current()[0].Befell; asked != 1 {
			t.Errorf("%d: it was asked %d times", status, asked)
		}
	}
	if account.api.Timeout != timeout {
		t.Errorf("a request may take %s", account.api.Timeout)
	}
	if err := rules.Replace([]faults.Rule{{DelayMilliseconds: 60_000}}); err != nil {
		t.Fatal(err)
	}
	account.api.Timeout = 50 * time.Millisecond
	if d, err := account.Get(t.Context(), project, "postgresql", id); err == nil {
		t.Errorf("%+v", d)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	for _, name := range Required {
		some := variables("ovh-eu")
		some[name] = ""
		if _, err := Connect(some); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for _, wrong := range []string{"ovh-xx", "https://eu.api.ovh.com/1.0/"} {
		if _, err := Connect(variables(wrong)); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	account, err := Connect(variables("ovh-eu"))
	if err != nil || account.api.Endpoint() != "https://eu.api.ovh.com/1.0" {
		t.Errorf("%v", err)
	}
}

// Neither the process's environment nor a file of the user has a say.
func TestConnectOnlyByVariables(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(home)
	if err := os.WriteFile("ovh.conf", []byte("[default]\nendpoint=ovh-us\n[ovh-eu]\nconsumer_key=of-the-file\naccess_token=of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"OVH_ACCESS_TOKEN", "OVH_CLIENT_ID"}, Required...) {
		t.Setenv(name, "of-the-process")
	}
	if _, err := Connect(map[string]string{"OVH_ENDPOINT": "ovh-eu", "OVH_APPLICATION_KEY": "key", "OVH_APPLICATION_SECRET": "secret"}); err == nil || !strings.Contains(err.Error(), "OVH_CONSUMER_KEY") {
		t.Errorf("%v", err)
	}
	account, err := Connect(variables("ovh-eu"))
	if err != nil || account.api.ConsumerKey != "consumer" || account.api.AccessToken != "" || account.api.ClientID != "" {
		t.Errorf("%v", err)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	pooler, own := endpoint{"pgbouncer", "pool.example.org", 20185}, endpoint{"postgresql", "db.example.org", 20184}
	for want, some := range map[string][]endpoint{
		"":                       nil,
		"db.example.org:20184":   {pooler, own},
		"pool.example.org:20185": {pooler},
	} {
		if got := address(some, "postgresql"); got != want {
			t.Errorf("%v: %q", some, got)
		}
	}
}
