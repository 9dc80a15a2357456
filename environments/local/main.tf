# What a newcomer applies first. It uses nothing but OpenTofu's built-in
# resources, so it needs no provider and no account.

terraform {
  required_version = ">= 1.12.0"

  # Filled in by the pipeline from environment.yaml.
  backend "s3" {}
}

module "host" {
  source   = "../../modules/host"
  for_each = var.hosts

  environment    = "local"
  name           = each.key
  size           = each.value.size
  admin_password = var.admin_password
}
