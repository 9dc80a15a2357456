# What the module refuses, and that it does before anything is planned.
mock_provider "openstack" {}

variables {
  environment     = "test"
  ssh_public_key  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPd+J1ikZpA8a8/X8xTwmv+l4+rePyt0cQcjX9mI7FWU"
  host_key        = "-----BEGIN OPENSSH PRIVATE KEY-----\n6Ul2jrf3iDvlCcXTVjU9xVfMHXVrfXv/V3mVBoD5\n-----END OPENSSH PRIVATE KEY-----\n"
  host_key_public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICAg6Ul2jrf3iDvlCcXTVjU9xVfMHXVrfXv/V3mVBoD5"
  admin_prefixes  = ["192.0.2.0/24"]
}

run "environment" {
  command = plan
  variables {
    environment = "Test 1"
  }
  expect_failures = [var.environment]
}

run "name" {
  command = plan
  variables {
    name = "web_1"
  }
  expect_failures = [var.name]
}

run "private_key_as_public" {
  command = plan
  variables {
    ssh_public_key = "-----BEGIN OPENSSH PRIVATE KEY-----"
  }
  expect_failures = [var.ssh_public_key]
}

run "host_key_of_another_kind" {
  command = plan
  variables {
    host_key = "-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----"
  }
  expect_failures = [var.host_key]
}

run "host_key_public_of_another_kind" {
  command = plan
  variables {
    host_key_public = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"
  }
  expect_failures = [var.host_key_public]
}

run "halves_of_two_keys" {
  command = plan
  variables {
    host_key_public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPd+J1ikZpA8a8/X8xTwmv+l4+rePyt0cQcjX9mI7FWU"
  }
  expect_failures = [var.host_key_public]
}

run "ssh_from_no_network" {
  command = plan
  variables {
    admin_prefixes = ["192.0.2.1"]
  }
  expect_failures = [var.admin_prefixes]
}

run "ssh_from_half_a_network" {
  command = plan
  variables {
    admin_prefixes = ["192.0.2.1/24"]
  }
  expect_failures = [var.admin_prefixes]
}

run "ssh_from_everywhere" {
  command = plan
  variables {
    admin_prefixes = ["0.0.0.0/0"]
  }
  expect_failures = [var.admin_prefixes]
}

run "ssh_from_everywhere_over_ipv6" {
  command = plan
  variables {
    admin_prefixes = ["::/0"]
  }
  expect_failures = [var.admin_prefixes]
}

run "public_cidr" {
  command = plan
  variables {
    cidr = "192.0.2.0/24"
  }
  expect_failures = [var.cidr]
}

run "no_cidr" {
  command = plan
  variables {
    cidr = "10.1.0.0"
  }
  expect_failures = [var.cidr]
}

run "cidr_within_a_network" {
  command = plan
  variables {
    cidr = "10.1.0.5/24"
  }
  expect_failures = [var.cidr]
}

run "small_cidr" {
  command = plan
  variables {
    cidr = "10.1.0.0/28"
  }
  expect_failures = [var.cidr]
}

run "vlan_of_no_vrack" {
  command = plan
  variables {
    vlan_id = 4001
  }
  expect_failures = [var.vlan_id]
}

run "vlan_zero" {
  command = plan
  variables {
    vlan_id = 0
  }
  expect_failures = [var.vlan_id]
}

run "half_a_vlan" {
  command = plan
  variables {
    vlan_id = 1.5
  }
  expect_failures = [var.vlan_id]
}

run "rule_for_what_leaves" {
  command = plan
  variables {
    rules = { a = { description = "a", direction = "egress", port_min = 1 } }
  }
  expect_failures = [var.rules]
}

run "rule_of_unknown_protocol" {
  command = plan
  variables {
    rules = { a = { description = "a", protocol = "sctp", port_min = 1 } }
  }
  expect_failures = [var.rules]
}

run "rule_without_port" {
  command = plan
  variables {
    rules = { a = { description = "a" } }
  }
  expect_failures = [var.rules]
}

run "rule_with_ports_backwards" {
  command = plan
  variables {
    rules = { a = { description = "a", port_min = 90, port_max = 80 } }
  }
  expect_failures = [var.rules]
}

run "rule_with_port_beyond_the_last" {
  command = plan
  variables {
    rules = { a = { description = "a", port_min = 1, port_max = 65536 } }
  }
  expect_failures = [var.rules]
}

run "icmp_with_port" {
  command = plan
  variables {
    rules = { a = { description = "a", protocol = "icmp", port_min = 8 } }
  }
  expect_failures = [var.rules]
}

run "rule_from_no_network" {
  command = plan
  variables {
    rules = { a = { description = "a", port_min = 1, prefixes = ["everywhere"] } }
  }
  expect_failures = [var.rules]
}

run "rule_named_ssh" {
  command = plan
  variables {
    rules = { ssh = { description = "a", port_min = 22 } }
  }
  expect_failures = [var.rules]
}

run "no_docker" {
  command = plan
  variables {
    packages = ["podman"]
  }
  expect_failures = [var.packages]
}

run "group_with_dash" {
  command = plan
  variables {
    groups = ["web-servers"]
  }
  expect_failures = [var.groups]
}
