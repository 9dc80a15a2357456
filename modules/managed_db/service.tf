locals {
  full_name = "${var.environment}-${var.name}"

  least_nodes = { essential = 1, business = 2, enterprise = 3, production = 2, advanced = 3 }[var.plan]
  nodes       = coalesce(var.nodes, local.least_nodes)
}

resource "ovh_cloud_project_database" "postgresql" {
  service_name = var.project_id
  description  = local.full_name
  engine       = "postgresql"
  version      = var.database_version
  plan         = var.plan
  flavor       = var.flavor
  disk_size    = var.disk_size

  advanced_configuration = var.settings
  backup_time            = var.backup_time
  maintenance_time       = var.maintenance_time

  dynamic "nodes" {
    for_each = range(local.nodes)

    content {
      region     = var.region
      network_id = var.network_id
      subnet_id  = var.subnet_id
    }
  }

  dynamic "ip_restrictions" {
    for_each = merge({ (var.cidr) = "the private network" }, var.more_prefixes)

    content {
      ip          = ip_restrictions.key
      description = ip_restrictions.value
    }
  }

  # The provider only remembers a service that has become ready: one that takes
  # longer than this is lost to the state, and goes on costing.
  timeouts {
    create = "2h"
    update = "2h"
    delete = "1h"
  }

  lifecycle {
    prevent_destroy = var.deletion_protection
  }
}
