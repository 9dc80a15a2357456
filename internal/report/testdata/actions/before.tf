# What is there before the plan.

variable "password" {
  default   = "canary-old-password"
  sensitive = true
}

resource "terraform_data" "updated" {
  input = { size = "canary-old", password = var.password }
}

resource "terraform_data" "marked" {
  input = "canary-same"
}

resource "terraform_data" "replaced" {
  triggers_replace = "canary-old-trigger"
}

resource "terraform_data" "tainted" {
  input = "canary-tainted"
}

resource "terraform_data" "kept" {
  triggers_replace = "canary-old-kept"
  lifecycle {
    destroy = false
  }
}

resource "terraform_data" "deleted" {
  input = "canary-deleted"
}

resource "terraform_data" "counted" {
  count = 3
  input = "canary-counted-${count.index}"
}

resource "terraform_data" "forgotten" {
  input = "canary-forgotten"
}

resource "terraform_data" "old_name" {
  input = "canary-moved"
}

resource "terraform_data" "old_place" {
  input = "canary-old-place"
}

# If it cannot be made a second time, the first object stays behind as deposed.
resource "terraform_data" "stuck" {
  triggers_replace = "canary-stuck"
  lifecycle {
    create_before_destroy = true
  }
  provisioner "local-exec" {
    command = "! test -e fail"
  }
}

output "address" {
  value = "canary-old-output"
}

output "password" {
  value     = var.password
  sensitive = true
}

output "removed" {
  value = "canary-removed-output"
}

output "same" {
  value = "canary-same-output"
}
