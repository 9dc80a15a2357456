resource "openstack_networking_network_v2" "private" {
  name        = "${var.environment}-network"
  description = "Private network of ${var.environment}"

  # This is how OVH wants a network's VLAN: the provider's `segments` are refused there.
  value_specs = var.vlan_id == null ? null : {
    "provider:network_type"    = "vrack"
    "provider:segmentation_id" = tostring(var.vlan_id)
  }
}

resource "openstack_networking_subnet_v2" "private" {
  name            = "${var.environment}-subnet"
  network_id      = openstack_networking_network_v2.private.id
  cidr            = var.cidr
  ip_version      = 4
  dns_nameservers = var.name_servers

  # A gateway here would give the host a second default route.
  no_gateway = true
}

resource "openstack_networking_port_v2" "private" {
  name               = local.full_name
  network_id         = openstack_networking_network_v2.private.id
  security_group_ids = [openstack_networking_secgroup_v2.host.id]

  fixed_ip {
    subnet_id = openstack_networking_subnet_v2.private.id
  }
}
