package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	gopherstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/ovh/go-ovh/ovh"
)

// asProgram lets the test binary be the program itself, so that it can be killed.
const asProgram = "CLOUDSIM_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program runs cloudsim on data as a process of its own until kill ends it, which
// lets it do nothing more.
func program(t *testing.T, data string) (url string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--data", data, "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	errors, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(errors)
	for url == "" && lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "serving on "); ok {
			url = "http://" + address
		}
	}
	return url, func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
	}
}

func neutron(t *testing.T, url string) *gophercloud.ServiceClient {
	t.Helper()
	provider, err := gopherstack.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: url + "/-/openstack/identity/v3/", Username: "operator", Password: "secret", TenantName: "slipway", DomainName: "Default",
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := gopherstack.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: "sim1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What both clouds answered for is there after the program was killed, and nothing
// else.
func TestKill(t *testing.T) {
	data := t.TempDir()
	url, kill := program(t, data)
	openstack := neutron(t, url)
	databases, err := ovh.NewClient(url+"/-/ovh", "application", "cloudsim-application-secret", "consumer")
	if err != nil {
		t.Fatal(err)
	}
	answered := map[string]bool{}
	var cluster struct{ ID string }
	if err := databases.Post("/cloud/project/slipway/database/postgresql", map[string]any{
		"version": "17", "plan": "essential", "nodesPattern": map[string]any{"flavor": "db1-4", "number": 1, "region": "SIM"}}, &cluster); err != nil {
		t.Fatal(err)
	}
	killed := make(chan struct{})
	asked := 0
	for {
		if asked++; asked == 20 { // while requests are under way
			go func() { kill(); close(killed) }()
		}
		n, err := networks.Create(t.Context(), openstack, networks.CreateOpts{Name: "private"}).Extract()
		if err != nil {
			break
		}
		answered[n.ID] = true
	}
	t.Logf("%d networks were made before it was killed", len(answered))
	<-killed

	url, kill = program(t, data)
	defer kill()
	pages, err := networks.List(neutron(t, url), networks.ListOpts{Name: "private"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there, err := networks.ExtractNetworks(pages)
	if err != nil || len(there) < len(answered) || len(there) > asked {
		t.Errorf("%d networks are there, %d were asked for and %d answered for: %v", len(there), asked, len(answered), err)
	}
	for _, n := range there {
		delete(answered, n.ID)
	}
	if len(answered) > 0 {
		t.Errorf("lost: %v", answered)
	}
	if databases, err = ovh.NewClient(url+"/-/ovh", "application", "cloudsim-application-secret", "consumer"); err != nil {
		t.Fatal(err)
	}
	if err := databases.Get("/cloud/project/slipway/database/postgresql/"+cluster.ID, nil); err != nil {
		t.Error(err)
	}
}

// The rules of /-/faults hold for both clouds and for nothing else, and each request
// leaves a line, also one whose connection was cut.
func TestServices(t *testing.T) {
	data := t.TempDir()
	url, _ := start(t, data)
	if status := do(t, "POST", url+faultsPath, `[{"path": "token|time", "status": 503, "times": 2}, {"path": "auth/details", "drop": true}]`); status != http.StatusNoContent {
		t.Fatalf("set the rules: %d", status)
	}
	for _, one := range []struct {
		method, path string
		want         int
	}{
		{"POST", "/-/openstack/identity/v3/auth/tokens", http.StatusServiceUnavailable},
		{"GET", "/-/ovh/auth/time", http.StatusServiceUnavailable},
		{"GET", "/-/ovh/auth/time", http.StatusOK},
		{"GET", "/-/servers", http.StatusOK},
		{"GET", "/-/openstack-metadata/x/latest/user-data", http.StatusNotFound},
		{"GET", "/-/openstack/compute/v2.1/servers", http.StatusUnauthorized},
		{"GET", "/-/github/user", http.StatusUnauthorized},
		{"PUT", "/time", http.StatusOK}, // a bucket
		{"GET", "/-/faults", http.StatusOK},
	} {
		if status := do(t, one.method, url+one.path, ""); status != one.want {
			t.Errorf("%s %s: %d", one.method, one.path, status)
		}
	}
	if response, err := http.Post(url+"/-/ovh/auth/details", "text/plain", nil); err == nil {
		t.Errorf("there is an answer: %s", response.Status)
		response.Body.Close()
	}
	log, err := os.ReadFile(filepath.Join(data, "requests.log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	var end request
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || end.Path != "/-/ovh/auth/details" || end.Status != 0 || len(lines) != 11 {
		t.Errorf("%d lines, the last: %+v, %v", len(lines), end, err)
	}
}
