resource "terraform_data" "updated" {
  input = "canary-old"
}
