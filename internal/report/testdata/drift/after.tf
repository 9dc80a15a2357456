resource "terraform_data" "undone" {
  input = "canary-new"
}

resource "terraform_data" "left" {
  input = "canary-left"
}

resource "terraform_data" "made_again" {
  input = "canary-again"
}
