# What is there before the plan.

variable "password" {
  default   = "canary-variable"
  sensitive = true
}

resource "terraform_data" "same" {
  input = "canary-same"
}

resource "terraform_data" "updated" {
  input = "canary-old"
}

resource "terraform_data" "secret" {
  input = var.password
}

resource "terraform_data" "replaced" {
  triggers_replace = "canary-old-trigger"
}

resource "terraform_data" "deleted" {
  for_each = toset(["one", "two with <html> & \"quotes\""])
}

resource "terraform_data" "forgotten" {}

resource "terraform_data" "old_name" {}

output "address" {
  value = "canary-old-output"
}
