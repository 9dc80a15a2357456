# What is planned.

variable "password" {
  default   = "canary-password"
  sensitive = true
}

resource "terraform_data" "flavor" {
  input = "r3-512"
}

resource "terraform_data" "rules" {
  input = ["198.51.100.0/24", "0.0.0.0/0"]
}

resource "terraform_data" "labels" {
  input = { team = "web", tier = 2, "a label" = null }
}

resource "terraform_data" "marked" {
  input = { size = 2, password = "${var.password}-2" }
}

# It is sensitive in another resource, and nothing says so here.
resource "terraform_data" "elsewhere" {
  input = nonsensitive(var.password)
}

resource "terraform_data" "markdown" {
  input = "[x](https://example.com) \u202e ```` # x"
}

resource "terraform_data" "long" {
  input = join("", [for n in range(100) : "canary"])
}

resource "terraform_data" "created" {
  input = ["443/tcp", "8883/tcp"]
}

resource "terraform_data" "later" {
  input = terraform_data.created.id
}
