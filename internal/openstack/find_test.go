package openstack

import (
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	sim "slipway/dev/cloudsim/openstack"
)

// fresh is a connection to a simulated cloud.
func fresh(t *testing.T) *Cloud {
	t.Helper()
	cloud, err := sim.Open(filepath.Join(t.TempDir(), "openstack.bolt"), "/-/openstack")
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
	c, err := Connect(t.Context(), map[string]string{
		"OS_AUTH_URL": server.URL + "/-/openstack/identity/v3/", "OS_REGION_NAME": sim.Region, "OS_TENANT_NAME": "slipway",
		"OS_USERNAME": "cloud-user", "OS_PASSWORD": "cloud-password-of-the-tests",
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPd+J1ikZpA8a8/X8xTwmv+l4+rePyt0cQcjX9mI7FWU operator@example.org"

func TestFind(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), fresh(t)
	must := func(id string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	network := func(name string) string {
		n, err := networks.Create(ctx, c.neutron, networks.CreateOpts{Name: name}).Extract()
		return must(n.ID, err)
	}
	begin := time.Now().Add(-time.Minute)
	net := network("test-network")
	s, err := subnets.Create(ctx, c.neutron, subnets.CreateOpts{Name: "test-subnet", NetworkID: net, CIDR: "10.1.0.0/24", IPVersion: 4}).Extract()
	subnet := must(s.ID, err)
	p, err := ports.Create(ctx, c.neutron, ports.CreateOpts{Name: "test-port", NetworkID: net}).Extract()
	port := must(p.ID, err)
	g, err := groups.Create(ctx, c.neutron, groups.CreateOpts{Name: "test-group"}).Extract()
	group := must(g.ID, err)
	const theirs = "dddddddd-0000-4000-8000-000000000001" // the default group of the project
	r, err := rules.Create(ctx, c.neutron, rules.CreateOpts{
		SecGroupID: group, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: 22, PortRangeMax: 22, RemoteIPPrefix: "192.0.2.0/24",
	}).Extract()
	rule := must(r.ID, err)
	k, err := keypairs.Create(ctx, c.nova, keypairs.CreateOpts{Name: "test-key", PublicKey: publicKey}).Extract()
	must(k.Name, err)

	with := func(values map[string]any, more ...any) map[string]any {
		all := map[string]any{}
		for name, v := range values {
			all[name] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[more[i].(string)] = more[i+1]
		}
		return all
	}
	without := func(values map[string]any, name string) map[string]any {
		less := maps.Clone(values)
		delete(less, name)
		return less
	}
	inOrder := func(ids []string) []string { return slices.Sorted(slices.Values(ids)) }
	ofRule := map[string]any{
		"security_group_id": group, "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp",
		"port_range_min": float64(22), "port_range_max": float64(22), "remote_ip_prefix": "192.0.2.0/24",
	}
	ofSubnet := map[string]any{"name": "test-subnet", "network_id": net, "cidr": "10.1.0.0/24"}
	ofPort := map[string]any{"name": "test-port", "network_id": net}
	ofKey := map[string]any{"name": "test-key", "public_key": publicKey + "\n"}
	for name, c2 := range map[string]struct {
		kind   string
		values map[string]any
		want   []string // with ids that may be the one behind a question mark
	}{
		"a network":                  {"openstack_networking_network_v2", map[string]any{"name": "test-network"}, []string{net}},
		"no network of that name":    {"openstack_networking_network_v2", map[string]any{"name": "test"}, nil},
		"a name not known yet":       {"openstack_networking_secgroup_v2", nil, []string{"?" + group, "?" + theirs}},
		"no name":                    {"openstack_networking_network_v2", map[string]any{"name": nil}, nil},
		"a subnet":                   {"openstack_networking_subnet_v2", ofSubnet, []string{subnet}},
		"a subnet of other numbers":  {"openstack_networking_subnet_v2", with(ofSubnet, "cidr", "10.2.0.0/24"), nil},
		"a network not known yet":    {"openstack_networking_subnet_v2", without(ofSubnet, "network_id"), []string{"?" + subnet}},
		"a subnet of chosen numbers": {"openstack_networking_subnet_v2", without(ofSubnet, "cidr"), []string{subnet}},
		"of it, another name":        {"openstack_networking_subnet_v2", without(with(ofSubnet, "name", "x"), "network_id"), nil},
		"a port in such a network":   {"openstack_networking_port_v2", without(ofPort, "network_id"), []string{"?" + port}},
		"a port":                     {"openstack_networking_port_v2", ofPort, []string{port}},
		"a port of another network":  {"openstack_networking_port_v2", with(ofPort, "network_id", "x"), nil},
		"a security group":           {"openstack_networking_secgroup_v2", map[string]any{"name": "test-group"}, []string{group}},
		"a rule":                     {"openstack_networking_secgroup_rule_v2", ofRule, []string{rule}},
		"a rule of another port":     {"openstack_networking_secgroup_rule_v2", with(ofRule, "port_range_max", float64(23)), nil},
		"a rule of another prefix":   {"openstack_networking_secgroup_rule_v2", with(ofRule, "remote_ip_prefix", "0.0.0.0/0"), nil},
		"a rule of another protocol": {"openstack_networking_secgroup_rule_v2", with(ofRule, "protocol", nil), nil},
		"a group not known yet":      {"openstack_networking_secgroup_rule_v2", without(ofRule, "security_group_id"), []string{"?" + rule}},
		"a remote group not known":   {"openstack_networking_secgroup_rule_v2", without(ofRule, "remote_group_id"), []string{rule}},
		"a prefix not known yet":     {"openstack_networking_secgroup_rule_v2", without(ofRule, "remote_ip_prefix"), []string{"?" + rule}},
		"a key not known yet":        {"openstack_compute_keypair_v2", without(ofKey, "public_key"), []string{"?test-key"}},
		"a key pair":                 {"openstack_compute_keypair_v2", ofKey, []string{"test-key"}},
		"a key pair of another key":  {"openstack_compute_keypair_v2", with(ofKey, "public_key", "ssh-ed25519 AAAA"), nil},
		"a key pair of another name": {"openstack_compute_keypair_v2", with(ofKey, "name", "x"), nil},
		"no server":                  {"openstack_compute_instance_v2", map[string]any{"name": "test-backend"}, nil},
	} {
		got, certain, err := c.Find(ctx, c2.kind, c2.values, begin)
		if !certain {
			for i := range got {
				got[i] = "?" + got[i]
			}
		}
		if err != nil || !slices.Equal(got, inOrder(c2.want)) || !certain && len(got) == 0 {
			t.Errorf("%s: %q, %v, %v", name, got, certain, err)
		}
		if !CanFind(c2.kind) {
			t.Errorf("%s: it says that it cannot", name)
		}
	}
	later := time.Now().Add(time.Minute)
	for kind, values := range map[string]map[string]any{
		"openstack_networking_network_v2": {"name": "test-network"}, "openstack_networking_subnet_v2": ofSubnet, "openstack_networking_port_v2": ofPort,
		"openstack_networking_secgroup_v2": {"name": "test-group"}, "openstack_networking_secgroup_rule_v2": ofRule,
	} {
		if got, _, err := c.Find(ctx, kind, values, later); err != nil || len(got) > 0 {
			t.Errorf("%s: what is older is taken for it: %q, %v", kind, got, err)
		}
	}
	again := network("test-network")
	if got, _, err := c.Find(ctx, "openstack_networking_network_v2", map[string]any{"name": "test-network"}, begin); err != nil || len(got) != 2 || !slices.Contains(got, again) {
		t.Errorf("two of a name: %q, %v", got, err)
	}
	if _, certain, err := c.Find(ctx, "openstack_dns_zone_v2", nil, begin); certain || err != nil || CanFind("openstack_dns_zone_v2") {
		t.Error("it finds what it does not know")
	}
}
