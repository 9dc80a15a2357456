# All that is local's own.

locals {
  environment = "local"

  # Where the engine's own networks are.
  admin_prefixes = ["10.0.0.0/8"]

  backend_flavor  = "b3-8"
  backend_running = true
  vlan_id         = null

  database_region    = "SIM"
  database_plan      = "essential"
  database_flavor    = "db1-4"
  database_protected = false

  # The zone that the simulated OVH has.
  dns_zone = "example.org"
  dns_name = "local.example.org"
}
