# What is there before the plan. terraform_data.input stands for an attribute on the list.

variable "password" {
  default   = "canary-password"
  sensitive = true
}

resource "terraform_data" "flavor" {
  input = "b3-8"
}

resource "terraform_data" "rules" {
  input = ["192.0.2.0/24", "198.51.100.0/24"]
}

resource "terraform_data" "labels" {
  input = { team = "web", tier = 1, "a label" = true }
}

resource "terraform_data" "marked" {
  input = { size = 1, password = var.password }
}

resource "terraform_data" "elsewhere" {
  input = "b3-8"
}

resource "terraform_data" "markdown" {
  input = "``` </details> @everyone"
}

resource "terraform_data" "long" {
  input = "short"
}
