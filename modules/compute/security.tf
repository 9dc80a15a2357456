resource "openstack_compute_keypair_v2" "admin" {
  name       = local.full_name
  public_key = trimspace(var.ssh_public_key)
}

resource "openstack_networking_secgroup_v2" "host" {
  name        = local.full_name
  description = "What may reach ${local.full_name}"

  # The cloud's own rules would be in nobody's code.
  delete_default_rules = true

  lifecycle {
    # It counts when the group is made, and an import does not know it: without this, a
    # group that was imported would be replaced, which its hosts do not let happen.
    ignore_changes = [delete_default_rules]
  }
}

locals {
  rules = merge(var.rules, {
    ssh = {
      description = "SSH for administrators"
      direction   = "ingress"
      protocol    = "tcp"
      port_min    = 22
      port_max    = 22
      prefixes    = var.admin_prefixes
    }
  })

  # A rule of the cloud has one prefix: ssh/192.0.2.0/24, https/::/0.
  cloud_rules = merge([for name, rule in local.rules : { for prefix in rule.prefixes : "${name}/${prefix}" => {
    rule   = rule
    prefix = prefix
  } }]...)
}

resource "openstack_networking_secgroup_rule_v2" "in" {
  for_each = local.cloud_rules

  security_group_id = openstack_networking_secgroup_v2.host.id
  description       = each.value.rule.description
  direction         = each.value.rule.direction
  ethertype         = strcontains(each.value.prefix, ":") ? "IPv6" : "IPv4"
  protocol          = each.value.rule.protocol
  port_range_min    = each.value.rule.port_min
  port_range_max    = try(coalesce(each.value.rule.port_max, each.value.rule.port_min), null)
  remote_ip_prefix  = each.value.prefix
}

resource "openstack_networking_secgroup_rule_v2" "out" {
  for_each = toset(["IPv4", "IPv6"])

  security_group_id = openstack_networking_secgroup_v2.host.id
  description       = "Everything that the host sends"
  direction         = "egress"
  ethertype         = each.key
}
