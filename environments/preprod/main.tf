# The same in local, test, preprod and prod: what differs between them is in settings.tf.

# Where and as whom: OS_AUTH_URL, OS_REGION_NAME, OS_TENANT_ID, OS_USERNAME and OS_PASSWORD in the credentials.
provider "openstack" {
  # Where the API asks to wait (429), we do.
  max_retries = 5
}

# OVH_ENDPOINT, OVH_APPLICATION_KEY, OVH_APPLICATION_SECRET and OVH_CONSUMER_KEY in the credentials.
provider "ovh" {}

# The project that OS_TENANT_ID names: OVH has the same id for it. So both providers work on one project.
data "openstack_identity_auth_scope_v3" "project" {
  name = local.environment
}

module "backend" {
  source = "../../modules/compute"

  environment     = local.environment
  flavor          = local.backend_flavor
  running         = local.backend_running
  ssh_public_key  = var.ssh_public_key
  host_key        = var.host_key
  host_key_public = var.host_key_public
  admin_prefixes  = local.admin_prefixes
  vlan_id         = local.vlan_id

  rules = {
    http  = { description = "HTTP, for redirects and certificates", port_min = 80 }
    https = { description = "HTTPS", port_min = 443 }
    mqtts = { description = "MQTT over TLS", port_min = 8883 }
  }
}

module "database" {
  source = "../../modules/managed_db"

  environment         = local.environment
  project_id          = data.openstack_identity_auth_scope_v3.project.project_id
  region              = local.database_region
  plan                = local.database_plan
  flavor              = local.database_flavor
  network_id          = module.backend.network_id
  subnet_id           = module.backend.subnet_id
  cidr                = module.backend.cidr
  databases           = ["app"]
  users               = { avnadmin = {}, backend = {} }
  deletion_protection = local.database_protected
}

module "dns" {
  source = "../../modules/dns_ovh"

  zone      = local.dns_zone
  name      = local.dns_name
  addresses = { A = module.backend.ipv4, AAAA = module.backend.ipv6 }
}
