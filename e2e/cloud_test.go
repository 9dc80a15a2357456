//go:build e2e

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ovh/go-ovh/ovh"
)

// A cloud is the simulated one of a checkout, as somebody beside OpenTofu sees it.
type cloud struct {
	t          *testing.T
	url, token string
}

// withCloud serves the cloud of the checkout to f.
func (c *checkout) withCloud(t *testing.T, f func(*cloud)) {
	t.Helper()
	stop, port := c.serve(t)
	defer stop()
	to := &cloud{t: t, url: "http://127.0.0.1:" + port + "/-"}
	response, err := http.Post(to.url+"/openstack/identity/v3/auth/tokens", "application/json",
		strings.NewReader(`{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "somebody", "domain": {"id": "default"}, "password": "x"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	to.token = response.Header.Get("X-Subject-Token")
	f(to)
}

// ask reads the answer of OpenStack into a value, if one is given.
func (c *cloud) ask(method, path string, into any) {
	c.t.Helper()
	request, err := http.NewRequest(method, c.url+"/openstack"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", c.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil || response.StatusCode >= 300 {
		c.t.Fatalf("%s %s: %s: %s, %v", method, path, response.Status, text, err)
	}
}

// deleteRule deletes the rule for HTTPS outside of OpenTofu.
func (c *checkout) deleteRule(t *testing.T) {
	t.Helper()
	c.withCloud(t, func(to *cloud) {
		var list struct {
			Rules []struct {
				ID     string `json:"id"`
				Port   int    `json:"port_range_min"`
				Prefix string `json:"remote_ip_prefix"`
			} `json:"security_group_rules"`
		}
		to.ask(http.MethodGet, "/network/v2.0/security-group-rules", &list)
		for _, r := range list.Rules {
			if r.Port == 443 && r.Prefix == "0.0.0.0/0" {
				to.ask(http.MethodDelete, "/network/v2.0/security-group-rules/"+r.ID, nil)
				return
			}
		}
		t.Fatalf("there is no such rule: %+v", list)
	})
}

// isEmpty fails the test unless nothing is left in the cloud but what it came with.
func (c *checkout) isEmpty(t *testing.T) {
	t.Helper()
	c.withCloud(t, func(to *cloud) {
		type named struct {
			Name string `json:"name"`
		}
		var found struct {
			Servers  []named `json:"servers"`
			Networks []named `json:"networks"`
			Subnets  []named `json:"subnets"`
			Ports    []named `json:"ports"`
			Groups   []named `json:"security_groups"`
			Keypairs []any   `json:"keypairs"`
		}
		for _, path := range []string{"/compute/v2.1/servers", "/compute/v2.1/os-keypairs", "/network/v2.0/networks", "/network/v2.0/ports", "/network/v2.0/security-groups"} {
			to.ask(http.MethodGet, path, &found)
		}
		if len(found.Servers)+len(found.Ports)+len(found.Keypairs) > 0 || !slices.Equal(found.Networks, []named{{"Ext-Net"}}) || !slices.Equal(found.Groups, []named{{"default"}}) {
			t.Errorf("OpenStack still has %+v", found)
		}
		client, err := ovh.NewClient(to.url+"/ovh", "key", "cloudsim-application-secret", "consumer")
		if err != nil {
			t.Fatal(err)
		}
		var databases []string
		if err := client.Get("/cloud/project/0123456789abcdef0123456789abcdef/database/postgresql", &databases); err != nil || len(databases) > 0 {
			t.Errorf("OVH still has %q, %v", databases, err)
		}
		var records []int64
		if err := client.Get("/domain/zone/example.org/record", &records); err != nil || len(records) > 0 {
			t.Errorf("OVH still has the records %v, %v", records, err)
		}
	})
}
