resource "terraform_data" "undone" {
  input = "canary-old"
}

resource "terraform_data" "left" {
  input = "canary-left"
}
