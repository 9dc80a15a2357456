resource "terraform_data" "same" {
  input = "canary-same"
}
