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

  # The pipeline stops an apply after 55 minutes: before that, the provider shall say
  # itself which service did not become ready.
  timeouts {
    create = "45m"
    update = "2h"
    delete = "1h"
  }

  lifecycle {
    prevent_destroy = var.deletion_protection

    # One that recover took into the state on its way: what is in it cannot be made yet.
    postcondition {
      condition     = !contains(["PENDING", "CREATING"], self.status) && length(self.endpoints) > 0
      error_message = "${self.description} (${self.id}) is ${self.status} and not ready: apply again when status says ready. If it stays so, ask OVH, or delete it in the Control Panel and apply again."
    }
  }
}
