# A host that exists in the state only.

terraform {
  required_version = ">= 1.12.0"
}

resource "terraform_data" "host" {
  input = {
    full_name = "${var.environment}-${var.name}"
    size      = var.size
  }
}

resource "terraform_data" "administrator" {
  input = var.admin_password
}
