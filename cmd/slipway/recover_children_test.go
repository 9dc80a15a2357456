//go:build blackbox

package main

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"slipway/internal/run"
	"slipway/internal/testkit"
)

// The code of resources, each of which needs some of those above it.
const (
	aNetwork = `
resource "openstack_networking_network_v2" "a" { name = "net" }
`
	aSubnet = aNetwork + `
resource "openstack_networking_subnet_v2" "a" {
  name       = "sub"
  network_id = openstack_networking_network_v2.a.id
  cidr       = "10.1.0.0/24"
}
`
	aPort = aNetwork + `
resource "openstack_networking_port_v2" "a" {
  name       = "port"
  network_id = openstack_networking_network_v2.a.id
}
`
	aPortInSubnet = aSubnet + `
resource "openstack_networking_port_v2" "a" {
  name       = "port"
  network_id = openstack_networking_network_v2.a.id
  fixed_ip { subnet_id = openstack_networking_subnet_v2.a.id }
}
`
	aRule = `
resource "openstack_networking_secgroup_v2" "a" { name = "group" }
resource "openstack_networking_secgroup_rule_v2" "a" {
  security_group_id = openstack_networking_secgroup_v2.a.id
  direction         = "ingress"
  ethertype         = "IPv4"
}
`
	aRuleOfAnotherGroup = `
resource "openstack_networking_secgroup_v2" "a" { name = "group" }
resource "openstack_networking_secgroup_v2" "other" { name = "other" }
resource "openstack_networking_secgroup_rule_v2" "a" {
  security_group_id = openstack_networking_secgroup_v2.a.id
  remote_group_id   = openstack_networking_secgroup_v2.other.id
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = 443
  port_range_max    = 443
}
`
	aServer = aPortInSubnet + `
resource "openstack_compute_keypair_v2" "a" {
  name       = "key"
  public_key = "` + cloudKey + `"
}
resource "openstack_compute_instance_v2" "a" {
  name        = "server"
  image_name  = "Debian 13"
  flavor_name = "b3-8"
  key_pair    = openstack_compute_keypair_v2.a.name
  network { port = openstack_networking_port_v2.a.id }
}
`
	aRecord = aPortInSubnet + `
resource "ovh_domain_zone_record" "a" {
  zone      = "example.org"
  subdomain = "test"
  fieldtype = "A"
  target    = openstack_networking_port_v2.a.all_fixed_ips[0]
}
`
	aService = aSubnet + `
data "openstack_identity_auth_scope_v3" "project" { name = "test" }
resource "ovh_cloud_project_database" "a" {
  service_name = data.openstack_identity_auth_scope_v3.project.project_id
  description  = "service"
  engine       = "postgresql"
  version      = "17"
  plan         = "essential"
  flavor       = "db1-4"
  nodes {
    region     = "GRA"
    network_id = openstack_networking_network_v2.a.id
    subnet_id  = openstack_networking_subnet_v2.a.id
  }
}
`
	aDatabase = aService + `
resource "ovh_cloud_project_database_database" "a" {
  service_name = ovh_cloud_project_database.a.service_name
  engine       = "postgresql"
  cluster_id   = ovh_cloud_project_database.a.id
  name         = "app"
}
`
	aUser = aService + `
resource "ovh_cloud_project_database_postgresql_user" "a" {
  service_name = ovh_cloud_project_database.a.service_name
  cluster_id   = ovh_cloud_project_database.a.id
  name         = "backend"
}
`
)

// A run dies before its journal has a word of its creates: recover finds the parents, and by their
// IDs the children. The next apply creates nothing twice, and destroy leaves nothing.
func TestBlackBoxRecoverChildren(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code  string
		made  string // path of the request that makes the last one
		found int    // resources that recover imports; after half a minute, the state has the others
		why   string // why the gate does not run it; empty: it does
	}{
		"a subnet of a network":      {aSubnet, "/subnets$", 2, "the port is a case of its kind"},
		"a port of a network":        {aPort, "/ports$", 2, ""},
		"a port of a subnet":         {aPortInSubnet, "/ports$", 3, "the port of a network is a case of its kind"},
		"a rule of a group":          {aRule, "/security-group-rules$", 2, ""},
		"a rule of two groups":       {aRuleOfAnotherGroup, "/security-group-rules$", 3, "the rule of one group is a case of its kind"},
		"a server with a port":       {aServer, "/servers$", 5, "it starts a server"},
		"a record of a port":         {aRecord, "/record$", 4, "it starts two providers"},
		"a service in a network":     {aService, "/postgresql$", 3, "its provider waits half a minute"},
		"a database of a service":    {aDatabase, "/database$", 1, "its provider waits half a minute"},
		"a user of a database's":     {aUser, "/user$", 1, "its provider waits half a minute"},
		"a network without children": {aSubnet, "/networks$", 1, "another case has it as its first step"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.why != "" {
				testkit.Deep(t, c.why)
			}
			s := newSystem(t)
			versions := "terraform {\n  backend \"s3\" {}\n  required_providers {\n    openstack = { source = \"terraform-provider-openstack/openstack\" }\n    ovh       = { source = \"ovh/ovh\" }\n  }\n}\n"
			if !strings.Contains(c.code, `"ovh_`) {
				versions = strings.Replace(versions, "    ovh       = { source = \"ovh/ovh\" }\n", "", 1)
			}
			s.write("environments/test/versions.tf", versions)
			s.write("environments/test/main.tf", c.code)
			for _, file := range []string{"outputs.tf", "settings.tf", "variables.tf"} {
				s.write("environments/test/"+file, "")
			}
			k := newKiller(t, s.url)
			k.at = regexp.MustCompile(c.made)
			for _, name := range []string{"OS_AUTH_URL", "OVH_ENDPOINT"} {
				s.secret[name] = strings.Replace(s.secret[name], s.url, k.url, 1)
			}
			s.seal()
			empty := s.inventory()
			s.run("bootstrap").must(t, run.Done)

			// Of the journal, the store takes the header only.
			later := regexp.MustCompile(`/journal/.*/0*[1-9]\d*\.age$`)
			s.store.failing(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				if r.Method != http.MethodPut || !later.MatchString(r.URL.Path) {
					return false
				}
				_, _ = io.Copy(io.Discard, r.Body) // before that, nobody notices when the client is gone
				<-r.Context().Done()
				return true
			})
			cmd := s.start(s.options("apply"), io.Discard)
			k.arm(0, func() { _ = cmd.Process.Kill() })
			if err := cmd.Wait(); err == nil {
				t.Fatal("the apply was not killed")
			}
			k.arm(0, nil)
			s.store.failing(nil)

			e := s.run("recover", dead).must(t, run.Done)
			if n := strings.Count(e.stdout, "importing it into the state"); n != c.found {
				t.Errorf("it imports %d resources, not %d:\n%s", n, c.found, e.stdout)
			}
			s.run("recover").must(t, run.Done).says(t, "nothing was interrupted")
			s.run("apply").must(t, run.Done)
			all := s.inventory()
			if twice := slices.Compact(slices.Clone(all)); len(twice) != len(all) {
				t.Errorf("something is listed twice: %q", all)
			}
			s.run("destroy", confirm).must(t, run.Done)
			if now := s.inventory(); !slices.Equal(now, empty) {
				t.Errorf("after destroy there is %q", now)
			}
		})
	}
}
