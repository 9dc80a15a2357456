package openstack

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	client "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
)

// open serves the cloud in the file at path.
func open(t *testing.T, path string) string {
	t.Helper()
	cloud, err := Open(path, "/-/openstack")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL + "/-/openstack/identity/v3/"
}

func nova(t *testing.T, url, password string) (*gophercloud.ServiceClient, error) {
	t.Helper()
	provider, err := client.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: url, Username: "operator", Password: password, TenantName: "slipway", DomainName: "Default",
	})
	if err != nil {
		return nil, err
	}
	return client.NewComputeV2(provider, gophercloud.EndpointOpts{Region: Region})
}

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKZ+ZZLyHJhHUcrrVUPGYqTDS6N1bOZkQe1dHqfsAeZT test"

// The client of the real provider makes a key pair, finds it again in a cloud that
// was started anew, and takes it away.
func TestKeypairs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "openstack.bolt")
	t.Run("make", func(t *testing.T) {
		c, err := nova(t, open(t, path), "secret")
		if err != nil {
			t.Fatal(err)
		}
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
		c, err := nova(t, open(t, path), "secret")
		if err != nil {
			t.Fatal(err)
		}
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
	url := open(t, filepath.Join(t.TempDir(), "openstack.bolt"))
	if _, err := nova(t, url, ""); err == nil {
		t.Error("it takes no password")
	}
	c, err := nova(t, url, "secret")
	if err != nil {
		t.Fatal(err)
	}
	c.SetToken("another")
	request, err := http.NewRequest(http.MethodGet, c.Endpoint+"os-keypairs", nil)
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
