package openstack_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	client "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"

	"slipway/dev/cloudsim/faults"
	"slipway/dev/cloudsim/openstack"
)

// Most tests wait until something is over; pace is how long that takes. Those that
// look at what is on the way let it take forever, so that no busy machine is too
// slow for them.
const (
	pace    = 20 * time.Millisecond
	forever = time.Hour
)

// A cloud is served to the client of the real provider.
type cloud struct {
	t                       *testing.T
	sim                     *openstack.Cloud
	path                    string // of the file
	url                     string // of the server
	compute, network, image *gophercloud.ServiceClient
	rules                   *faults.Rules
	close                   func()
}

// open serves the cloud in the file at path.
func open(t *testing.T, path string, pace time.Duration) *cloud {
	t.Helper()
	sim, err := openstack.Open(path, "/-/openstack")
	if err != nil {
		t.Fatal(err)
	}
	sim.Pace = pace
	c := &cloud{t: t, sim: sim, path: path, rules: &faults.Rules{}}
	server := httptest.NewServer(c.rules.Around(sim))
	c.url = server.URL
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
	provider, err := c.login("secret")
	if err != nil {
		t.Fatal(err)
	}
	region := gophercloud.EndpointOpts{Region: openstack.Region}
	if c.compute, err = client.NewComputeV2(provider, region); err != nil {
		t.Fatal(err)
	}
	if c.network, err = client.NewNetworkV2(provider, region); err != nil {
		t.Fatal(err)
	}
	if c.image, err = client.NewImageV2(provider, region); err != nil {
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

// fresh serves an empty cloud.
func fresh(t *testing.T) *cloud {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "openstack.bolt"), pace)
}

func (c *cloud) login(password string) (*gophercloud.ProviderClient, error) {
	return client.AuthenticatedClient(c.t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: c.url + "/-/openstack/identity/v3/", Username: "operator", Password: password, TenantName: "slipway", DomainName: "Default", AllowReauth: true,
	})
}

// must ends the test if there is an error.
func must[T any](t *testing.T, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// refused wants an answer with that status.
func refused(t *testing.T, err error, status int) {
	t.Helper()
	if !gophercloud.ResponseCodeIs(err, status) {
		t.Errorf("not %d: %v", status, err)
	}
}

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKZ+ZZLyHJhHUcrrVUPGYqTDS6N1bOZkQe1dHqfsAeZT test"

// The client of the real provider creates a key pair, finds it in a restarted cloud, and deletes
// it.
func TestKeypairs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "openstack.bolt")
	t.Run("make", func(t *testing.T) {
		c := open(t, path, pace).compute
		made, err := keypairs.Create(t.Context(), c, keypairs.CreateOpts{Name: "one", PublicKey: key}).Extract()
		if err != nil || made.Name != "one" || made.PublicKey != key || len(made.Fingerprint) != 47 {
			t.Fatalf("%+v, %v", made, err)
		}
		if _, err := keypairs.Create(t.Context(), c, keypairs.CreateOpts{Name: "one", PublicKey: key}).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
			t.Errorf("a second of that name: %v", err)
		}
		for name, opts := range map[string]keypairs.CreateOpts{"no key": {Name: "two"}, "a wrong key": {Name: "two", PublicKey: "ssh-ed25519 x"}} {
			if _, err := keypairs.Create(t.Context(), c, opts).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("find", func(t *testing.T) {
		c := open(t, path, pace).compute
		pages, err := keypairs.List(c, nil).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if all, err := keypairs.ExtractKeyPairs(pages); err != nil || len(all) != 1 || all[0].Name != "one" {
			t.Errorf("%v, %v", all, err)
		}
		if one, err := keypairs.Get(t.Context(), c, "one", nil).Extract(); err != nil || one.PublicKey != key {
			t.Errorf("%v, %v", one, err)
		}
		if err := keypairs.Delete(t.Context(), c, "one", nil).ExtractErr(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := keypairs.Delete(t.Context(), c, "one", nil).ExtractErr(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
				t.Errorf("gone already: %v", err)
			}
		}
		if _, err := keypairs.Get(t.Context(), c, "one", nil).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			t.Errorf("gone: %v", err)
		}
	})
}

// Nobody gets in without a password or with a token that was not issued here.
func TestIdentity(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	if _, err := c.login(""); err == nil {
		t.Error("it takes no password")
	}
	request, err := http.NewRequest(http.MethodGet, c.compute.Endpoint+"os-keypairs", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", "another")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("another token: %s", response.Status)
	}
}
