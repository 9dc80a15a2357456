package testkit

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-json"

	"slipway/dev/cloudsim/openstack"
	"slipway/internal/must"
)

const Network = "openstack_networking_network_v2"

// A Cloud is a simulated OpenStack, used directly rather than through OpenTofu.
type Cloud struct {
	t          *testing.T
	url, token string
}

// OnCloud gives a desk the credentials of a simulated cloud.
func (d *Desk) OnCloud() *Cloud {
	d.T.Helper()
	sim, err := openstack.Open(filepath.Join(d.T.TempDir(), "openstack.bolt"), "/-/openstack")
	must.Do(d.T, err)
	sim.Pace = 10 * time.Millisecond
	server := httptest.NewServer(sim)
	d.T.Cleanup(func() {
		server.Close()
		must.Do(d.T, sim.Close())
	})
	url := server.URL + "/-/openstack"
	d.Credentials = map[string]string{
		"OS_AUTH_URL": url + "/identity/v3/", "OS_REGION_NAME": openstack.Region, "OS_TENANT_NAME": "slipway", "OS_USERNAME": "user", "OS_PASSWORD": "word",
	}
	request, err := http.NewRequestWithContext(d.T.Context(), http.MethodPost, url+"/identity/v3/auth/tokens",
		strings.NewReader(`{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "user", "domain": {"id": "default"}, "password": "word"}}}}}`))
	must.Do(d.T, err)
	login, err := http.DefaultClient.Do(request)
	must.Do(d.T, err)
	defer login.Body.Close()
	return &Cloud{d.T, url, login.Header.Get("X-Subject-Token")}
}

// Make creates a resource and returns its ID. The body says what kind it is.
func (c *Cloud) Make(path, body string) (id string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+path, strings.NewReader(body))
	must.Do(c.t, err)
	request.Header.Set("X-Auth-Token", c.token)
	response, err := http.DefaultClient.Do(request)
	must.Do(c.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	must.Do(c.t, err)
	var made map[string]struct{ ID string }
	if err := json.Unmarshal(data, &made); err != nil || response.StatusCode >= 300 {
		c.t.Fatalf("%s: %s: %s", path, response.Status, data)
	}
	for _, one := range made {
		id = one.ID
	}
	return id
}

func (c *Cloud) MakeNetwork(name string) (id string) {
	c.t.Helper()
	return c.Make("/network/v2.0/networks", `{"network": {"name": "`+name+`"}}`)
}

func Recorded(kind, id string) *tfjson.StateResource {
	return &tfjson.StateResource{Type: kind, AttributeValues: map[string]any{"id": id}}
}

// WithOVH gives a desk the credentials of an OVH account. It has a service "old", whose age OVH
// does not report, with a database and two users called app. Only one user's age is reported.
func (d *Desk) WithOVH() {
	d.T.Helper()
	const service = "/cloud/project/p/database/postgresql/old"
	answers := map[string]string{
		"/auth/time": "1", service: `{"id": "old", "status": "READY"}`,
		service + "/database": `["app"]`, service + "/database/app": `{"id": "app", "name": "app"}`,
		service + "/user": `["dated", "undated"]`, service + "/user/undated": `{"id": "undated", "username": "app"}`,
		service + "/user/dated": `{"id": "dated", "username": "app", "createdAt": "` + time.Now().Format(time.RFC3339) + `"}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, answer)
	}))
	d.T.Cleanup(server.Close)
	if d.Credentials == nil {
		d.Credentials = map[string]string{}
	}
	for name, value := range map[string]string{"OVH_ENDPOINT": server.URL, "OVH_APPLICATION_KEY": "k", "OVH_APPLICATION_SECRET": "s", "OVH_CONSUMER_KEY": "c"} {
		d.Credentials[name] = value
	}
}
