check "nodes" {
  assert {
    condition     = var.plan == "essential" ? local.nodes == 1 : local.nodes >= local.least_nodes
    error_message = "${local.full_name}: plan ${var.plan} has ${var.plan == "essential" ? "exactly 1 node" : "at least ${local.least_nodes} nodes"}, not ${local.nodes}: leave nodes out, or raise the plan."
  }
}

# db1-… are OVH's second generation of databases, b3-… its third, each with its plans.
check "generation" {
  assert {
    condition     = contains(local.plans, var.plan)
    error_message = "${local.full_name}: flavor ${var.flavor} goes with plan ${join(" or ", local.plans)}, not ${var.plan}."
  }
}

locals {
  plans = startswith(var.flavor, "db") ? ["essential", "business", "enterprise"] : ["production", "advanced"]
}
