# The schemas are the real provider's; no cloud is asked.
mock_provider "openstack" {
  mock_resource "openstack_compute_instance_v2" {
    defaults = {
      access_ip_v4 = "198.51.100.7"
      access_ip_v6 = "[2001:db8::7]"
    }
  }
  mock_resource "openstack_networking_network_v2" {
    defaults = { id = "id-of-network" }
  }
  mock_resource "openstack_networking_subnet_v2" {
    defaults = { id = "id-of-subnet" }
  }
  mock_resource "openstack_networking_port_v2" {
    defaults = {
      id             = "id-of-port"
      all_fixed_ips  = ["10.1.0.23"]
      tenant_id      = ""
      mac_address    = "fa:16:3e:00:00:01"
      dns_assignment = []
    }
  }
  mock_resource "openstack_networking_secgroup_v2" {
    defaults = { id = "id-of-group" }
  }
  mock_data "openstack_images_image_v2" {
    defaults = { id = "id-of-image" }
  }
}

# No key: only the 40 characters that both halves of one have in common.
variables {
  environment     = "test"
  ssh_public_key  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPd+J1ikZpA8a8/X8xTwmv+l4+rePyt0cQcjX9mI7FWU operator@example.org"
  host_key        = <<-EOT
    -----BEGIN OPENSSH PRIVATE KEY-----
    bm90IGEga2V5
    6Ul2jrf3iDvlCcXTVjU9xVfMHXVrfXv/
    V3mVBoD5AA
    -----END OPENSSH PRIVATE KEY-----
  EOT
  host_key_public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICAg6Ul2jrf3iDvlCcXTVjU9xVfMHXVrfXv/V3mVBoD5 test-backend"
  admin_prefixes  = ["192.0.2.0/24", "2001:db8:1::/48"]
}

run "defaults" {
  assert {
    condition     = output.name == "test-backend" && openstack_networking_network_v2.private.name == "test-network" && openstack_networking_subnet_v2.private.name == "test-subnet"
    error_message = "The names are ${output.name}, ${openstack_networking_network_v2.private.name} and ${openstack_networking_subnet_v2.private.name}."
  }
  assert {
    condition     = openstack_compute_instance_v2.host.flavor_name == "b3-8" && openstack_compute_instance_v2.host.image_id == "id-of-image" && data.openstack_images_image_v2.host.name == "Debian 13"
    error_message = "The host is no b3-8 of Debian 13."
  }
  assert {
    condition     = openstack_compute_instance_v2.host.power_state == "active"
    error_message = "The host does not run: ${openstack_compute_instance_v2.host.power_state}."
  }
  assert {
    condition     = openstack_compute_instance_v2.host.network[0].name == "Ext-Net" && openstack_compute_instance_v2.host.network[0].access_network && openstack_compute_instance_v2.host.network[1].port == "id-of-port"
    error_message = "The network cards are not the public one, then the private one."
  }
  assert {
    condition     = openstack_networking_network_v2.private.value_specs == null
    error_message = "A VLAN was asked for without vlan_id."
  }
  assert {
    condition     = openstack_networking_subnet_v2.private.no_gateway && openstack_networking_subnet_v2.private.cidr == "10.1.0.0/24"
    error_message = "The private network has a gateway, or ${openstack_networking_subnet_v2.private.cidr}."
  }
  assert {
    condition     = openstack_networking_secgroup_v2.host.delete_default_rules && openstack_networking_port_v2.private.security_group_ids == toset(["id-of-group"])
    error_message = "The cloud's own rules are kept, or the private card has none of ours."
  }
}

run "rules_by_default" {
  command = plan

  assert {
    condition = toset(keys(openstack_networking_secgroup_rule_v2.in)) == toset([
      "http/0.0.0.0/0", "http/::/0", "https/0.0.0.0/0", "https/::/0", "ssh/192.0.2.0/24", "ssh/2001:db8:1::/48",
    ])
    error_message = "The rules are ${join(", ", keys(openstack_networking_secgroup_rule_v2.in))}."
  }
  assert {
    condition     = openstack_networking_secgroup_rule_v2.in["ssh/192.0.2.0/24"].port_range_min == 22 && openstack_networking_secgroup_rule_v2.in["ssh/192.0.2.0/24"].port_range_max == 22
    error_message = "SSH has other ports than 22."
  }
  assert {
    condition     = openstack_networking_secgroup_rule_v2.in["ssh/2001:db8:1::/48"].ethertype == "IPv6" && openstack_networking_secgroup_rule_v2.in["ssh/192.0.2.0/24"].ethertype == "IPv4"
    error_message = "A rule's family does not follow its prefix."
  }
  assert {
    condition     = alltrue([for rule in openstack_networking_secgroup_rule_v2.in : rule.direction == "ingress"])
    error_message = "A rule for what comes in has another direction."
  }
  assert {
    condition     = alltrue([for rule in openstack_networking_secgroup_rule_v2.out : rule.direction == "egress"]) && length(openstack_networking_secgroup_rule_v2.out) == 2
    error_message = "What leaves the host is not allowed over IPv4 and IPv6."
  }
}

run "rules_are_data" {
  command = plan

  variables {
    admin_prefixes = ["192.0.2.1/32"]
    rules = {
      mqtts = { description = "MQTT over TLS", port_min = 8883, prefixes = ["198.51.100.0/24"] }
      media = { description = "A range", protocol = "udp", port_min = 50000, port_max = 50100 }
      ping  = { description = "Echo requests", protocol = "icmp", prefixes = ["0.0.0.0/0"] }
    }
  }

  assert {
    condition = toset(keys(openstack_networking_secgroup_rule_v2.in)) == toset([
      "media/0.0.0.0/0", "media/::/0", "mqtts/198.51.100.0/24", "ping/0.0.0.0/0", "ssh/192.0.2.1/32",
    ])
    error_message = "The rules are ${join(", ", keys(openstack_networking_secgroup_rule_v2.in))}."
  }
  assert {
    condition     = openstack_networking_secgroup_rule_v2.in["media/::/0"].port_range_min == 50000 && openstack_networking_secgroup_rule_v2.in["media/::/0"].port_range_max == 50100 && openstack_networking_secgroup_rule_v2.in["media/::/0"].protocol == "udp"
    error_message = "The range of ports is lost."
  }
  assert {
    condition     = openstack_networking_secgroup_rule_v2.in["mqtts/198.51.100.0/24"].port_range_max == 8883 && openstack_networking_secgroup_rule_v2.in["mqtts/198.51.100.0/24"].description == "MQTT over TLS"
    error_message = "One port is no range of one, or has no description."
  }
  assert {
    condition     = openstack_networking_secgroup_rule_v2.in["ping/0.0.0.0/0"].port_range_min == null && openstack_networking_secgroup_rule_v2.in["ping/0.0.0.0/0"].port_range_max == null
    error_message = "ICMP got ports."
  }
}

run "outputs" {
  assert {
    condition     = output.ipv4 == "198.51.100.7" && output.ipv6 == "2001:db8::7" && output.private_ip == "10.1.0.23"
    error_message = "The addresses are ${output.ipv4}, ${output.ipv6} and ${output.private_ip}."
  }
  assert {
    condition     = output.network_id == "id-of-network" && output.subnet_id == "id-of-subnet" && output.cidr == "10.1.0.0/24"
    error_message = "The network's outputs are not the network's."
  }
  assert {
    condition     = output.known_hosts == "198.51.100.7,2001:db8::7 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICAg6Ul2jrf3iDvlCcXTVjU9xVfMHXVrfXv/V3mVBoD5"
    error_message = "The line is ${output.known_hosts}."
  }
  assert {
    condition = output.ansible_inventory == {
      host        = "198.51.100.7"
      user        = "debian"
      port        = 22
      known_hosts = output.known_hosts
      groups      = ["test", "backend"]
      boot_marker = "/var/lib/cloud/instance/boot-finished-slipway"
    }
    error_message = "The inventory is ${jsonencode(output.ansible_inventory)}."
  }
}

run "user_data" {
  assert {
    condition     = startswith(nonsensitive(openstack_compute_instance_v2.host.user_data), "#cloud-config\n")
    error_message = "cloud-init would not read it."
  }
  assert {
    condition     = yamldecode(nonsensitive(openstack_compute_instance_v2.host.user_data)).ssh_keys.ed25519_private == nonsensitive(var.host_key)
    error_message = "The private key is not the host's, or has no newline at its end."
  }
  assert {
    condition     = yamldecode(nonsensitive(openstack_compute_instance_v2.host.user_data)).ssh_keys.ed25519_public == "${var.host_key_public}\n"
    error_message = "The public key is not the host's."
  }
  assert {
    condition     = yamldecode(nonsensitive(openstack_compute_instance_v2.host.user_data)).packages == ["docker.io", "docker-cli", "docker-compose"]
    error_message = "Docker is not installed from the distribution's packages."
  }
  assert {
    condition     = yamldecode(nonsensitive(openstack_compute_instance_v2.host.user_data)).write_files[0].content == file("files/answer-routes")
    error_message = "The script is not the file's."
  }
  assert {
    condition     = endswith(trimspace(yamldecode(nonsensitive(openstack_compute_instance_v2.host.user_data)).runcmd[0][2]), "touch /var/lib/cloud/instance/boot-finished-slipway")
    error_message = "The marker is not what comes last."
  }
}

run "vlan" {
  command = plan
  variables {
    vlan_id = 101
  }

  assert {
    condition     = openstack_networking_network_v2.private.value_specs == tomap({ "provider:network_type" = "vrack", "provider:segmentation_id" = "101" })
    error_message = "The network is not in VLAN 101 of the vRack."
  }
}

run "not_running" {
  command = plan
  variables {
    running = false
  }

  assert {
    condition     = openstack_compute_instance_v2.host.power_state == "shelved_offloaded"
    error_message = "The host is ${openstack_compute_instance_v2.host.power_state}."
  }
}

run "nobody_can_log_in" {
  command = plan
  variables {
    admin_prefixes = []
  }
  expect_failures = [check.ssh]
}

run "dockers_addresses" {
  command = plan
  variables {
    cidr = "172.20.0.0/24"
  }
  expect_failures = [check.docker_networks]
}

run "new_build_of_the_image" {
  override_data {
    target = data.openstack_images_image_v2.host
    values = { id = "id-of-newer-build" }
  }

  assert {
    condition     = openstack_compute_instance_v2.host.image_id == "id-of-image"
    error_message = "The host was rebuilt from ${openstack_compute_instance_v2.host.image_id}."
  }
}

run "another_image" {
  variables {
    image = "Debian 14"
  }
  override_data {
    target = data.openstack_images_image_v2.host
    values = { id = "id-of-debian-14" }
  }

  # Only a host made anew takes it, for changes are ignored.
  assert {
    condition     = openstack_compute_instance_v2.host.image_id == "id-of-debian-14"
    error_message = "The host is still of ${openstack_compute_instance_v2.host.image_id}."
  }
}

run "another_key" {
  variables {
    image          = "Debian 14"
    ssh_public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICAg6Ul2jrf3iDvlCcXTVjU9xVfMHXVrfXv/V3mVBoD5"
  }
  override_data {
    target = data.openstack_images_image_v2.host
    values = { id = "id-for-the-new-key" }
  }

  assert {
    condition     = openstack_compute_instance_v2.host.image_id == "id-for-the-new-key"
    error_message = "The host lets the old key in."
  }
}
