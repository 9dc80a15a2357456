output "id" {
  description = "Id of the host in the cloud"
  value       = openstack_compute_instance_v2.host.id
}

output "name" {
  description = "Full name of the host. Example: test-backend"
  value       = openstack_compute_instance_v2.host.name
}

# addresses

output "ipv4" {
  description = "Public IPv4 address"
  value       = openstack_compute_instance_v2.host.access_ip_v4
}

output "ipv6" {
  description = "Public IPv6 address; empty where the cloud gives none"
  value       = local.ipv6
}

output "private_ip" {
  description = "Address in the private network"
  value       = one(openstack_networking_port_v2.private.all_fixed_ips)
}

# network

output "network_id" {
  description = "Id of the private network, for what else is to be on it"
  value       = openstack_networking_network_v2.private.id
}

output "subnet_id" {
  description = "Id of the private network's subnet"
  value       = openstack_networking_subnet_v2.private.id
}

output "cidr" {
  description = "Prefix of the private network"
  value       = openstack_networking_subnet_v2.private.cidr
}

# access

locals {
  ipv6        = try(trim(openstack_compute_instance_v2.host.access_ip_v6, "[]"), "")
  addresses   = join(",", compact([openstack_compute_instance_v2.host.access_ip_v4, local.ipv6]))
  known_hosts = "${local.addresses} ${join(" ", slice(split(" ", trimspace(var.host_key_public)), 0, 2))}"
}

output "known_hosts" {
  description = "Line of known_hosts: with it, no first connection has to be trusted"
  value       = local.known_hosts
}

output "ansible_inventory" {
  description = "The host as Ansible's inventory needs it"
  value = {
    host        = openstack_compute_instance_v2.host.access_ip_v4
    user        = var.user
    port        = 22
    known_hosts = local.known_hosts
    groups      = concat([replace(var.environment, "-", "_")], var.groups)
    boot_marker = "/var/lib/cloud/instance/boot-finished-slipway" # the last line of files/user-data.yaml.tftpl
  }
}
