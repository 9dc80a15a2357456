//go:build blackbox

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	client "github.com/ovh/go-ovh/ovh"

	"slipway/dev/cloudsim/ovh"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// A project is a root module that the real OpenTofu works on with the real
// providers, against a cloud of its own.
type project struct {
	t    *testing.T
	dir  string
	home string
	tofu string
	url  string // of the cloud
}

func newProject(t *testing.T, code string) *project {
	t.Helper()
	slipway, err := filepath.Abs("../../.slipway")
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: t.TempDir(), home: t.TempDir(), tofu: filepath.Join(slipway, "bin", "tofu")}
	providers := filepath.Join(slipway, "providers")
	for _, file := range []string{
		p.tofu,
		filepath.Join(providers, "registry.opentofu.org/terraform-provider-openstack/openstack"),
		filepath.Join(providers, "registry.opentofu.org/ovh/ovh"),
	} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%s is not there: make test puts it there", file)
		}
	}
	if err := os.Mkdir(filepath.Join(p.home, ".terraform.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(providers, filepath.Join(p.home, ".terraform.d", "plugins")); err != nil {
		t.Fatal(err)
	}
	p.url, _ = start(t, t.TempDir())
	p.write(code)
	p.run("init", "-input=false")
	return p
}

// write makes code the root module. HOST in it is the address of the cloud.
func (p *project) write(code string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "main.tf"), []byte(strings.ReplaceAll(code, "HOST", p.url)), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// try runs tofu and returns what it wrote and its exit code.
func (p *project) try(args ...string) (output string, code int) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.tofu, args...)
	cmd.Dir = p.dir
	cmd.Env = []string{
		"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=/dev/null", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
		"TF_LOG=" + os.Getenv("TF_LOG"), "TF_LOG_PATH=" + os.Getenv("TF_LOG_PATH"),
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// run runs tofu, which has to succeed.
func (p *project) run(args ...string) string {
	p.t.Helper()
	output, code := p.try(args...)
	if code != 0 {
		p.t.Fatalf("tofu %s ended with %d:\n%s", strings.Join(args, " "), code, output)
	}
	return output
}

func (p *project) apply() { p.t.Helper(); p.run("apply", "-auto-approve", "-no-color", "-input=false") }

// plan says which resources would be changed.
func (p *project) plan() []string {
	p.t.Helper()
	output, code := p.try("plan", "-detailed-exitcode", "-input=false", "-json")
	if code != 0 && code != 2 {
		p.t.Fatalf("tofu plan ended with %d:\n%s", code, output)
	}
	var changed []string
	for line := range strings.Lines(output) {
		var message struct {
			Type   string `json:"type"`
			Change struct {
				Resource struct{ Addr string }
				Action   string
			} `json:"change"`
		}
		if json.Unmarshal([]byte(line), &message) == nil && message.Type == "planned_change" {
			changed = append(changed, message.Change.Action+" "+message.Change.Resource.Addr)
		}
	}
	if (code == 2) != (len(changed) > 0) {
		p.t.Fatalf("tofu plan ended with %d, and names %v:\n%s", code, changed, output)
	}
	return changed
}

// output is what the root module gives out under name.
func (p *project) output(name string) string {
	p.t.Helper()
	return strings.TrimSpace(p.run("output", "-raw", name))
}

// token lets somebody beside OpenTofu in.
func (p *project) token() string {
	p.t.Helper()
	auth := `{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "somebody", "domain": {"id": "default"}, "password": "x"}}}}}`
	response, err := http.Post(p.url+"/-/openstack/identity/v3/auth/tokens", "application/json", strings.NewReader(auth))
	if err != nil {
		p.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.Header.Get("X-Subject-Token")
}

// call asks the cloud as somebody beside OpenTofu would.
func (p *project) call(method, path, body string, want int) string {
	p.t.Helper()
	request, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if strings.HasPrefix(path, "/-/openstack/") {
		request.Header.Set("X-Auth-Token", p.token())
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		p.t.Fatalf("%s %s: %s, %v\n%s", method, path, response.Status, err, data)
	}
	return string(data)
}

// count says how many there are at path, an OpenStack list.
func (p *project) count(path, key string) int {
	p.t.Helper()
	var list map[string]json.RawMessage
	var all []any
	err := json.Unmarshal([]byte(p.call("GET", path, "", http.StatusOK)), &list)
	if err == nil {
		err = json.Unmarshal(list[key], &all)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return len(all)
}

const openstackCode = `
terraform {
  required_providers {
    openstack = { source = "terraform-provider-openstack/openstack" }
  }
}

provider "openstack" {
  auth_url    = "HOST/-/openstack/identity/v3/"
  region      = "sim1"
  tenant_name = "slipway"
  domain_name = "Default"
  user_name   = "operator"
  password    = "secret"
}

data "openstack_images_image_v2" "debian" {
  name        = "Debian 13"
  most_recent = true
}

data "openstack_compute_flavor_v2" "small" {
  name = "b3-8"
}

data "openstack_networking_network_v2" "public" {
  name     = "Ext-Net"
  external = true
}

data "openstack_compute_availability_zones_v2" "all" {}

data "openstack_networking_secgroup_v2" "default" {
  name = "default"
}

resource "openstack_compute_keypair_v2" "operator" {
  name       = "operator"
  public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKZ+ZZLyHJhHUcrrVUPGYqTDS6N1bOZkQe1dHqfsAeZT operator@example.org"
}

resource "openstack_networking_network_v2" "private" {
  name           = "private"
  admin_state_up = true
  tags           = ["slipway"]
}

resource "openstack_networking_subnet_v2" "private" {
  name        = "private"
  network_id  = openstack_networking_network_v2.private.id
  cidr        = "10.20.0.0/24"
  ip_version  = 4
  no_gateway  = true
  enable_dhcp = true

  allocation_pool {
    start = "10.20.0.100"
    end   = "10.20.0.200"
  }
}

resource "openstack_networking_secgroup_v2" "web" {
  name                 = "web"
  description          = "What is seen from outside"
  delete_default_rules = true
}

resource "openstack_networking_secgroup_rule_v2" "out" {
  for_each          = toset(["IPv4", "IPv6"])
  security_group_id = openstack_networking_secgroup_v2.web.id
  direction         = "egress"
  ethertype         = each.value
}

resource "openstack_networking_secgroup_rule_v2" "in" {
  for_each          = toset(["22", "443"])
  security_group_id = openstack_networking_secgroup_v2.web.id
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = tonumber(each.value)
  port_range_max    = tonumber(each.value)
  remote_ip_prefix  = "0.0.0.0/0"
}

resource "openstack_networking_secgroup_rule_v2" "members" {
  security_group_id = openstack_networking_secgroup_v2.web.id
  direction         = "ingress"
  ethertype         = "IPv4"
  remote_group_id   = openstack_networking_secgroup_v2.web.id
}

resource "openstack_networking_port_v2" "private" {
  name               = "web-private"
  network_id         = openstack_networking_network_v2.private.id
  admin_state_up     = true
  security_group_ids = [openstack_networking_secgroup_v2.web.id]

  fixed_ip {
    subnet_id  = openstack_networking_subnet_v2.private.id
    ip_address = "10.20.0.10"
  }
}

resource "openstack_compute_instance_v2" "web" {
  name            = "web"
  image_id        = data.openstack_images_image_v2.debian.id
  flavor_name     = data.openstack_compute_flavor_v2.small.name
  key_pair        = openstack_compute_keypair_v2.operator.name
  security_groups = [openstack_networking_secgroup_v2.web.name]
  user_data       = "#cloud-config\n"
  metadata        = { role = "web" }

  network {
    uuid           = data.openstack_networking_network_v2.public.id
    access_network = true
  }

  network {
    port = openstack_networking_port_v2.private.id
  }
}

output "server" { value = openstack_compute_instance_v2.web.id }
output "address" { value = openstack_compute_instance_v2.web.access_ip_v4 }
output "rule" { value = try(openstack_networking_secgroup_rule_v2.in["443"].id, "") }
`

// The real provider creates a server and everything it needs, sees nothing to change, finds and
// repairs what somebody deleted, and leaves nothing behind.
func TestBlackBoxOpenStack(t *testing.T) {
	t.Parallel()
	p := newProject(t, openstackCode)
	p.apply()
	if changed := p.plan(); len(changed) != 0 {
		t.Errorf("after an apply: %v", changed)
	}
	if address := p.output("address"); !strings.HasPrefix(address, "203.0.113.") {
		t.Errorf("its address is %s", address)
	}
	listed := p.call("GET", "/-/servers", "", http.StatusOK)
	if !strings.Contains(listed, `"private":["10.20.0.10"]`) || !strings.Contains(listed, `"status":"ACTIVE"`) {
		t.Errorf("/-/servers: %s", listed)
	}
	if data := p.call("GET", "/-/openstack-metadata/"+p.output("server")+"/openstack/latest/user_data", "", http.StatusOK); data != "#cloud-config\n" {
		t.Errorf("user data: %q", data)
	}

	p.call("DELETE", "/-/openstack/network/v2.0/security-group-rules/"+p.output("rule"), "", http.StatusNoContent)
	if changed := p.plan(); fmt.Sprint(changed) != `[create openstack_networking_secgroup_rule_v2.in["443"]]` {
		t.Errorf("after a rule was deleted: %v", changed)
	}
	p.apply()
	if changed := p.plan(); len(changed) != 0 {
		t.Errorf("after it was repaired: %v", changed)
	}

	p.write(strings.NewReplacer(`"b3-8"`, `"b3-16"`, `role = "web"`, `role = "db"`, `["22", "443"]`, `["22", "80"]`).Replace(openstackCode))
	p.apply()
	if changed := p.plan(); len(changed) != 0 {
		t.Errorf("after a change: %v", changed)
	}

	p.run("destroy", "-auto-approve", "-no-color", "-input=false")
	for path, want := range map[string]int{
		"compute/v2.1/servers servers": 0, "compute/v2.1/os-keypairs keypairs": 0, "network/v2.0/ports ports": 0,
		"network/v2.0/networks networks": 1, "network/v2.0/subnets subnets": 2, "network/v2.0/security-groups security_groups": 1,
		"network/v2.0/security-group-rules security_group_rules": 4,
	} {
		path, key, _ := strings.Cut(path, " ")
		if n := p.count("/-/openstack/"+path, key); n != want {
			t.Errorf("after a destroy %d %s are there and not %d", n, key, want)
		}
	}
}

// A server that ends in ERROR fails the apply, and the next one replaces it. When the
// answer to its creation is lost, the next apply makes a second one: the provider
// does not look for the first.
func TestBlackBoxFaults(t *testing.T) {
	t.Parallel()
	start := strings.Index(openstackCode, `resource "openstack_networking_network_v2"`)
	code := openstackCode[:start] + `
resource "openstack_compute_instance_v2" "web" {
  name        = "web"
  image_id    = data.openstack_images_image_v2.debian.id
  flavor_name = "b3-8"
  key_pair    = openstack_compute_keypair_v2.operator.name

  network {
    name = "Ext-Net"
  }
}
`
	p := newProject(t, code)
	wrong := func(rule string) string {
		t.Helper()
		p.call("POST", "/-/faults", "["+rule+"]", http.StatusNoContent)
		output, code := p.try("apply", "-auto-approve", "-no-color", "-input=false")
		if code != 1 {
			t.Errorf("with %s it ended with %d:\n%s", rule, code, output)
		}
		return output
	}
	const servers = `"method": "POST", "path": "/compute/v2.1/servers$", "times": 1`
	if output := wrong(`{` + servers + `, "set": {"status": "ERROR"}}`); !strings.Contains(output, "unexpected state 'ERROR'") {
		t.Errorf("it does not say what is wrong:\n%s", output)
	}
	if output := wrong(`{` + servers + `, "status": 403}`); !strings.Contains(output, "403") {
		t.Errorf("it does not say what is wrong:\n%s", output)
	}
	if n := p.count("/-/openstack/compute/v2.1/servers", "servers"); n != 0 {
		t.Errorf("the broken server is still there, %d", n)
	}
	wrong(`{` + servers + `, "drop": true, "afterEffect": true}`)
	p.apply()
	if changed := p.plan(); len(changed) != 0 {
		t.Errorf("in the end: %v", changed)
	}
	if n := p.count("/-/openstack/compute/v2.1/servers", "servers"); n != 2 {
		t.Errorf("%d servers are there", n)
	}
}

const databaseCode = `
terraform {
  required_providers {
    ovh = { source = "ovh/ovh" }
  }
}

provider "ovh" {
  endpoint           = "HOST/-/ovh"
  application_key    = "application"
  application_secret = "cloudsim-application-secret"
  consumer_key       = "consumer"
}

data "ovh_cloud_project_database_capabilities" "all" {
  service_name = "slipway"
}

resource "ovh_cloud_project_database" "main" {
  service_name = "slipway"
  description  = "main"
  engine       = "postgresql"
  version      = "17"
  plan         = "essential"
  flavor       = "db1-4"

  nodes {
    region = "SIM"
  }

  ip_restrictions {
    ip          = "203.0.113.0/24"
    description = "hosts"
  }
}

resource "ovh_cloud_project_database_postgresql_user" "app" {
  service_name = "slipway"
  cluster_id   = ovh_cloud_project_database.main.id
  name         = "app"
}

resource "ovh_cloud_project_database_database" "app" {
  service_name = "slipway"
  engine       = "postgresql"
  cluster_id   = ovh_cloud_project_database.main.id
  name         = "app"
}

output "uri" { value = ovh_cloud_project_database.main.endpoints[0].uri }

output "password" {
  value     = ovh_cloud_project_database_postgresql_user.app.password
  sensitive = true
}
`

// The real provider creates a database with a user, sees nothing to change, finds and repairs what
// somebody changed, and leaves nothing behind. It waits half a minute before its first look.
func TestBlackBoxDatabase(t *testing.T) {
	testkit.Deep(t, "the provider asks every ten seconds whether a database is ready")
	t.Parallel()
	p := newProject(t, databaseCode)
	p.apply()
	if changed := p.plan(); len(changed) != 0 {
		t.Errorf("after an apply: %v", changed)
	}
	if uri := p.output("uri"); !strings.HasPrefix(uri, "postgres://") {
		t.Errorf("its address is %s", uri)
	}
	if len(p.output("password")) < 16 {
		t.Error("its password is short")
	}
	client, err := client.NewClient(p.url+"/-/ovh", "application", ovh.Secret, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	const clusters = "/cloud/project/slipway/database/postgresql"
	var ids []string
	if err := client.Get(clusters, &ids); err != nil || len(ids) != 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	if err := client.Delete(clusters+"/"+ids[0]+"/ipRestriction/203.0.113.0%2F24", nil); err != nil {
		t.Fatal(err)
	}
	soon.Wait(t, "the restriction is gone", func() bool {
		var blocks []string
		return client.Get(clusters+"/"+ids[0]+"/ipRestriction", &blocks) == nil && !slices.Contains(blocks, "203.0.113.0/24")
	})
	if changed := p.plan(); fmt.Sprint(changed) != "[update ovh_cloud_project_database.main]" {
		t.Errorf("after a restriction was deleted: %v", changed)
	}
	p.apply()
	if changed := p.plan(); len(changed) != 0 {
		t.Errorf("after it was repaired: %v", changed)
	}
	p.run("destroy", "-auto-approve", "-no-color", "-input=false")
	if err := client.Get(clusters, &ids); err != nil || len(ids) != 0 {
		t.Errorf("after a destroy: %v, %v", ids, err)
	}
}
