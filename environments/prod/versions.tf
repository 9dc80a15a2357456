terraform {
  required_version = ">= 1.12.0"

  required_providers {
    openstack = {
      source  = "terraform-provider-openstack/openstack"
      version = "3.4.0"
    }
    ovh = {
      source  = "ovh/ovh"
      version = "1.4.0"
    }
  }

  # Filled in by the pipeline from environment.yaml.
  backend "s3" {}
}
