# All that is preprod's own.

locals {
  environment = "preprod"

  # Networks of those who log in and of the CI that deploys. Put your own here: these are nobody's.
  admin_prefixes = ["192.0.2.0/24", "2001:db8::/48"]

  backend_flavor  = "b3-8"
  backend_running = true
  vlan_id         = null

  # OVH's name of the region where OS_REGION_NAME is: GRA for GRA11.
  database_region    = "GRA"
  database_plan      = "essential"
  database_flavor    = "db1-4"
  database_protected = false

  # A zone of yours at OVH, and the name of the backend in it: these are nobody's.
  dns_zone = "example.org"
  dns_name = "preprod.example.org"
}
