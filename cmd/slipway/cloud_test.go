//go:build blackbox

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"slipway/dev/cloudsim/openstack"
	"slipway/internal/testkit"
)

// A cloud is a simulated OpenStack in this process, and the real provider for it,
// which notes each of its starts.
type cloud struct {
	t      *testing.T
	url    string
	mirror string // folder of the provider
	starts string // file with a line for each start
}

const cloudKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPd+J1ikZpA8a8/X8xTwmv+l4+rePyt0cQcjX9mI7FWU operator@example.org"

// onCloud gives the project one key pair in a simulated cloud.
func (p *project) onCloud() *cloud {
	p.t.Helper()
	mirrors, err := filepath.Glob("../../.slipway/providers/registry.opentofu.org/terraform-provider-openstack/openstack/*/linux_amd64/terraform-provider-openstack_*")
	if err != nil || len(mirrors) != 1 {
		p.t.Fatalf("the provider is not in .slipway/providers (%v, %v): make tools puts it there", mirrors, err)
	}
	// A copy: the tools may not be able to reach this checkout.
	program := filepath.Join(testkit.ForTools(p.t), "provider")
	if err := copyProgram(mirrors[0], program); err != nil {
		p.t.Fatal(err)
	}
	sim, err := openstack.Open(filepath.Join(p.t.TempDir(), "openstack.bolt"), "/-/openstack")
	if err != nil {
		p.t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	p.t.Cleanup(func() {
		server.Close()
		if err := sim.Close(); err != nil {
			p.t.Error(err)
		}
	})
	c := &cloud{t: p.t, url: server.URL + "/-/openstack", mirror: p.t.TempDir(), starts: filepath.Join(testkit.ForTools(p.t), "starts")}
	inside, err := filepath.Rel("../../.slipway/providers", mirrors[0])
	if err != nil {
		p.t.Fatal(err)
	}
	wrapper := filepath.Join(c.mirror, inside)
	p.file(wrapper, fmt.Sprintf("#!/bin/sh\necho started >> %s\nexec %s \"$@\"\n", c.starts, program))
	if err := os.Chmod(wrapper, 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.providers = c.mirror
	p.secret["OS_USERNAME"], p.secret["OS_PASSWORD"] = "cloud-user", "cloud-password-of-the-tests"
	p.seal()
	p.write("environments/test/main.tf", c.code("operator"))
	return c
}

func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// code is a root module with the key pairs of these names.
func (c *cloud) code(names ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `terraform {
  backend "s3" {}
  required_providers {
    openstack = { source = "terraform-provider-openstack/openstack" }
  }
}
provider "openstack" {
  auth_url    = "%s/identity/v3/"
  region      = "%s"
  tenant_name = "slipway"
  domain_name = "Default"
}
`, c.url, openstack.Region)
	for _, name := range names {
		fmt.Fprintf(&b, "resource \"openstack_compute_keypair_v2\" %q {\n  name       = %q\n  public_key = %q\n}\n", name, name, cloudKey)
	}
	return b.String()
}

// started says how often the provider was started since the last time.
func (c *cloud) started() int {
	c.t.Helper()
	text, err := os.ReadFile(c.starts)
	if os.IsNotExist(err) {
		return 0
	}
	if err == nil {
		err = os.Remove(c.starts)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Count(string(text), "started")
}

// call asks the cloud as somebody beside OpenTofu would.
func (c *cloud) call(method, path, body string, want int) []byte {
	c.t.Helper()
	auth := `{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "somebody", "domain": {"id": "default"}, "password": "x"}}}}}`
	response, err := http.Post(c.url+"/identity/v3/auth/tokens", "application/json", strings.NewReader(auth))
	if err != nil {
		c.t.Fatal(err)
	}
	_ = response.Body.Close()
	request, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", response.Header.Get("X-Subject-Token"))
	if response, err = http.DefaultClient.Do(request); err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		c.t.Fatalf("%s %s: %s, %v", method, path, response.Status, err)
	}
	return text
}
