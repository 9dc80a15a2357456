# What is planned.

variable "password" {
  default   = "canary-new-password"
  sensitive = true
}

resource "terraform_data" "updated" {
  input = { size = "canary-new", password = var.password }
}

resource "terraform_data" "marked" {
  input = sensitive("canary-same")
}

resource "terraform_data" "replaced" {
  triggers_replace = "canary-new-trigger"
}

resource "terraform_data" "tainted" {
  input = "canary-tainted"
}

resource "terraform_data" "kept" {
  triggers_replace = "canary-new-kept"
  lifecycle {
    destroy = false
  }
}

resource "terraform_data" "counted" {
  count = 1
  input = "canary-counted-${count.index}"
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

resource "terraform_data" "new_name" {
  input = "canary-moved"
}

moved {
  from = terraform_data.old_place
  to   = terraform_data.new_place
}

resource "terraform_data" "new_place" {
  input = "canary-new-place"
}

import {
  to = terraform_data.imported
  id = "canary-import-id"
}

resource "terraform_data" "imported" {}

import {
  to = terraform_data.imported_and_updated
  id = "canary-import-id-2"
}

resource "terraform_data" "imported_and_updated" {
  input = "canary-imported"
}

resource "terraform_data" "stuck" {
  triggers_replace = "canary-stuck"
  lifecycle {
    create_before_destroy = true
  }
}

resource "terraform_data" "created" {
  input = "canary-created"
}

# It is read when it is applied, and is no change.
data "terraform_remote_state" "later" {
  backend = "local"
  config  = { path = terraform_data.created.id }
}

output "address" {
  value = "canary-new-output"
}

output "password" {
  value     = var.password
  sensitive = true
}

output "later" {
  value = terraform_data.created.id
}

output "same" {
  value = "canary-same-output"
}
