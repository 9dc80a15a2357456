# What a newcomer applies first: on a simulated cloud, so it needs no account.

terraform {
  required_version = ">= 1.12.0"

  required_providers {
    openstack = {
      source  = "terraform-provider-openstack/openstack"
      version = "3.4.0"
    }
  }

  # Filled in by the pipeline from environment.yaml.
  backend "s3" {}
}

# Its user and password are OS_USERNAME and OS_PASSWORD in credentials/local.enc.env.
provider "openstack" {
  auth_url    = "http://cloudsim:9000/-/openstack/identity/v3/"
  region      = "sim1"
  tenant_name = "slipway"
  domain_name = "Default"
}

resource "openstack_compute_keypair_v2" "operator" {
  name       = "local-operator"
  public_key = var.operator_key
}

module "host" {
  source   = "../../modules/host"
  for_each = var.hosts

  environment    = "local"
  name           = each.key
  size           = each.value.size
  admin_password = var.admin_password
}
