# What the plan is made of.

variable "password" {
  default   = "canary-other-variable"
  sensitive = true
}

resource "terraform_data" "same" {
  input = "canary-same"
}

resource "terraform_data" "updated" {
  input = "canary-new"
}

resource "terraform_data" "secret" {
  input = var.password
}

resource "terraform_data" "replaced" {
  triggers_replace = "canary-new-trigger"
}

resource "terraform_data" "created" {
  count = 2
  input = "canary-created"
}

removed {
  from = terraform_data.forgotten
  lifecycle {
    destroy = false
  }
}

moved {
  from = terraform_data.old_name
  to   = terraform_data.new_name
}

resource "terraform_data" "new_name" {}

import {
  to = terraform_data.imported
  id = "canary-imported-id"
}

resource "terraform_data" "imported" {}

output "address" {
  value = "canary-new-output"
}
