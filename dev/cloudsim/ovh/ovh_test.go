package ovh_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	client "github.com/ovh/go-ovh/ovh"

	"slipway/dev/cloudsim/faults"
	"slipway/dev/cloudsim/ovh"
	"slipway/internal/testkit/soon"
)

// Most tests wait until something is over; pace is how long that takes. Those that
// look at what is on the way let it take forever, so that no busy machine is too
// slow for them.
const (
	pace    = 20 * time.Millisecond
	forever = time.Hour
)

const clusters = "/cloud/project/slipway/database/postgresql"

// A cloud is served to the client of the real provider.
type cloud struct {
	*client.Client
	t     *testing.T
	sim   *ovh.Cloud
	path  string // of the file
	url   string
	rules *faults.Rules
	close func()
}

func open(t *testing.T, path string, pace time.Duration) *cloud {
	t.Helper()
	sim, err := ovh.Open(path, "/-/ovh")
	if err != nil {
		t.Fatal(err)
	}
	sim.Pace = pace
	c := &cloud{t: t, sim: sim, path: path, rules: &faults.Rules{}}
	server := httptest.NewServer(c.rules.Around(sim))
	c.url = server.URL + "/-/ovh"
	closed := false
	c.close = func() {
		if closed {
			return
		}
		closed = true
		server.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(c.close)
	if c.Client, err = client.NewClient(c.url, "application", ovh.Secret, "consumer"); err != nil {
		t.Fatal(err)
	}
	return c
}

// reopen closes the cloud and opens it again with another pace.
func (c *cloud) reopen(pace time.Duration) *cloud {
	c.t.Helper()
	c.close()
	return open(c.t, c.path, pace)
}

func fresh(t *testing.T) *cloud {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "ovh.bolt"), pace)
}

// What the API answers, as far as the tests look at it.
type thing struct {
	ID, Status, Description, Version, Plan, Flavor, Region string
	Username, Password, Name, IP                           string
	NetworkType, NetworkID, SubnetID, MaintenanceTime      string
	Default                                                bool
	NodeNumber                                             int
	Roles                                                  []string
	Disk                                                   struct {
		Size int
		Type string
	}
	Backups struct {
		Regions []string
		Time    string
	}
	IPRestrictions []thing
	Endpoints      []struct {
		Scheme, SslMode, URI string
		Port                 int
		Ssl                  bool
	}
}

func (c *cloud) post(path string, body any) thing {
	c.t.Helper()
	var made thing
	if err := c.Post(path, body, &made); err != nil {
		c.t.Fatal(err)
	}
	return made
}

func (c *cloud) get(path string) (found thing) {
	c.t.Helper()
	if err := c.Get(path, &found); err != nil {
		c.t.Fatal(err)
	}
	return found
}

func (c *cloud) ids(path string) (ids []string) {
	c.t.Helper()
	if err := c.Get(path, &ids); err != nil {
		c.t.Fatal(err)
	}
	return ids
}

// await waits until what is at path has that status.
func (c *cloud) await(path, status string) {
	c.t.Helper()
	soon.Wait(c.t, path+" is "+status, func() bool { return c.get(path).Status == status })
}

// gone waits until nothing is at path.
func (c *cloud) gone(path string) {
	c.t.Helper()
	var err error
	soon.Wait(c.t, path+" is gone", func() bool {
		err = c.Get(path, nil)
		return err != nil
	})
	refused(c.t, err, http.StatusNotFound)
}

func refused(t *testing.T, err error, status int) {
	t.Helper()
	var no *client.APIError
	if !errors.As(err, &no) || no.Code != status || no.Message == "" || !strings.Contains(no.Class, "::") {
		t.Errorf("not %d: %v", status, err)
	}
}

type object map[string]any

// wish is a request for a cluster.
func wish(change ...func(object)) object {
	o := object{
		"description": "of the tests", "version": "17", "plan": "essential", "nodesPattern": object{"flavor": "db1-4", "number": 1, "region": "SIM"},
		"ipRestrictions": []object{{"ip": "203.0.113.0/24", "description": "office"}},
	}
	for _, f := range change {
		f(o)
	}
	return o
}

// cluster makes one, and returns its path when it is READY.
func (c *cloud) cluster() string {
	c.t.Helper()
	path := clusters + "/" + c.post(clusters, wish()).ID
	c.await(path, "READY")
	return path
}

// The client of the real provider signs as the cloud wants it, and nobody else gets
// in.
func TestSignature(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	begin := time.Now().Truncate(time.Second)
	now, err := c.Time()
	if err != nil || now.Before(begin) || now.After(time.Now()) {
		t.Errorf("%v, %v", now, err)
	}
	var details struct{ Account, Method string }
	if err := c.Get("/auth/details", &details); err != nil || details.Account == "" {
		t.Errorf("%v, %v", details, err)
	}
	if project := c.get("/cloud/project/slipway"); project.Status != "ok" {
		t.Errorf("%+v", project)
	}
	other, err := client.NewClient(c.url, "application", "another-secret", "consumer")
	if err != nil {
		t.Fatal(err)
	}
	refused(t, other.Get("/auth/details", nil), http.StatusForbidden)
	refused(t, c.GetUnAuth("/auth/details", nil), http.StatusForbidden)
	request, err := c.NewRequest("GET", "/auth/details", nil, true)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Ovh-Timestamp", "1")
	response, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	refused(t, c.UnmarshalResponse(response, nil), http.StatusBadRequest)
	refused(t, c.Get("/me", nil), http.StatusNotFound)
}
