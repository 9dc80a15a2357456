package plan

import (
	"strings"
	"sync"
)

// table lists what a review shows for the resource types that we and our users work with: for each
// type, the attributes that are never secret and that help a reviewer tell a small change from an
// expensive or dangerous one. A path names a nested attribute, without list indexes. A ! means that
// only addresses are shown, because a record may contain anything else. Left out on purpose: free
// text (descriptions, metadata, user data), URLs, and IDs, which are of no use to a reviewer.
const table = `
openstack_blockstorage_volume_v3     name region availability_zone size volume_type
openstack_compute_instance_v2        name region availability_zone flavor_name image_name power_state key_pair security_groups tags network.name block_device.volume_size block_device.volume_type
openstack_compute_keypair_v2         name region
openstack_dns_recordset_v2           name region type ttl records!
openstack_lb_listener_v2             name region protocol protocol_port allowed_cidrs connection_limit tls_versions tags
openstack_lb_loadbalancer_v2         name region availability_zone vip_address loadbalancer_provider admin_state_up tags
openstack_lb_member_v2               name region address protocol_port weight backup tags
openstack_lb_monitor_v2              name region type delay timeout max_retries
openstack_lb_pool_v2                 name region protocol lb_method tls_enabled tls_versions tags
openstack_networking_floatingip_v2   region pool tags
openstack_networking_network_v2      name region admin_state_up external shared mtu port_security_enabled tags segments.network_type segments.segmentation_id
openstack_networking_port_v2         name region admin_state_up port_security_enabled no_security_groups tags fixed_ip.ip_address allowed_address_pairs.ip_address
openstack_networking_router_v2       name region admin_state_up enable_snat tags
openstack_networking_secgroup_rule_v2 region direction ethertype protocol port_range_min port_range_max remote_ip_prefix
openstack_networking_secgroup_v2     name region stateful tags
openstack_networking_subnet_v2       name region cidr ip_version gateway_ip no_gateway enable_dhcp dns_nameservers tags allocation_pool.start allocation_pool.end
openstack_objectstorage_container_v1 name region versioning storage_class

ovh_cloud_project_database           engine version plan flavor disk_size backup_time maintenance_time backup_regions network_type nodes.region ip_restrictions.ip
ovh_cloud_project_database_database  name engine
ovh_cloud_project_database_postgresql_user name roles
ovh_cloud_project_gateway            name region model
ovh_cloud_project_kube               name region version update_policy kube_proxy_mode
ovh_cloud_project_kube_nodepool      name flavor_name desired_nodes min_nodes max_nodes autoscale anti_affinity monthly_billed
ovh_cloud_project_network_private    name regions vlan_id
ovh_cloud_project_network_private_subnet region network start end dhcp no_gateway
ovh_domain_zone_record               zone subdomain fieldtype ttl target!

scaleway_domain_record               dns_zone name type ttl data!
scaleway_instance_security_group     name zone inbound_default_policy outbound_default_policy stateful inbound_rule.action inbound_rule.protocol inbound_rule.port inbound_rule.port_range inbound_rule.ip_range outbound_rule.action outbound_rule.protocol outbound_rule.port outbound_rule.port_range outbound_rule.ip_range tags
scaleway_instance_server             name zone type image state tags root_volume.size_in_gb root_volume.volume_type
scaleway_instance_volume             name zone type size_in_gb tags
scaleway_k8s_cluster                 name region type version cni tags
scaleway_k8s_pool                    name region zone node_type size min_size max_size autoscaling autohealing tags
scaleway_lb                          name zone type tags
scaleway_lb_backend                  name forward_protocol forward_port
scaleway_lb_frontend                 name inbound_port
scaleway_object_bucket               name region
scaleway_rdb_instance                name region engine node_type is_ha_cluster volume_type volume_size_in_gb disable_backup tags
scaleway_vpc_private_network         name region tags ipv4_subnet.subnet
scaleway_vpc_public_gateway          name zone type tags

hcloud_firewall                      name labels rule.direction rule.protocol rule.port rule.source_ips rule.destination_ips
hcloud_floating_ip                   name type home_location labels
hcloud_load_balancer                 name load_balancer_type location network_zone labels
hcloud_load_balancer_service         protocol listen_port destination_port proxyprotocol
hcloud_network                       name ip_range labels
hcloud_network_subnet                type network_zone ip_range
hcloud_primary_ip                    name type datacenter labels
hcloud_server                        name server_type image location datacenter backups delete_protection rebuild_protection labels
hcloud_volume                        name size location format delete_protection labels

proxmox_virtual_environment_download_file node_name datastore_id content_type file_name
proxmox_virtual_environment_network_linux_bridge node_name name address ports vlan_aware mtu
proxmox_virtual_environment_vm       node_name name vm_id bios machine started on_boot protection tags cpu.cores cpu.sockets cpu.type memory.dedicated memory.floating disk.datastore_id disk.interface disk.size disk.file_format network_device.bridge network_device.vlan_id network_device.model network_device.mtu

cloudflare_dns_record                name type ttl proxied content!
cloudflare_r2_bucket                 name location jurisdiction storage_class
cloudflare_record                    name type ttl proxied content! value!
`

// A rule is how much of an attribute may be shown.
type rule int

const (
	nothing rule = iota
	addresses
	everything
)

// rules are the rules of one type, by path, such as disk.size.
type rules map[string]rule

// has reports whether there is a rule for the attribute or for something in it.
func (r rules) has(attribute string) bool {
	for path := range r {
		if path == attribute || strings.HasPrefix(path, attribute+".") {
			return true
		}
	}
	return false
}

// builtIn is the table, by type.
var builtIn = sync.OnceValue(func() map[string]rules {
	types := map[string]rules{}
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		for i, path := range fields {
			if i == 0 {
				types[path] = rules{}
			} else if name, only := strings.CutSuffix(path, "!"); only {
				types[fields[0]][name] = addresses
			} else {
				types[fields[0]][path] = everything
			}
		}
	}
	return types
})

// An allowList is the table plus what an environment adds to it.
type allowList map[string]rules

// allowing adds entries such as openstack_compute_instance_v2.flavor_name.
func allowing(show []string) allowList {
	added := allowList{}
	for _, entry := range show {
		kind, path, _ := strings.Cut(entry, ".")
		if added[kind] == nil {
			added[kind] = rules{}
		}
		added[kind][path] = everything
	}
	return added
}

func (a allowList) of(kind string) rules {
	known, added := builtIn()[kind], a[kind]
	if len(added) == 0 {
		return known
	}
	both := rules{}
	for _, some := range []rules{known, added} {
		for path, r := range some {
			both[path] = r
		}
	}
	return both
}
