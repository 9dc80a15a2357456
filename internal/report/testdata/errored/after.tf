# The plan ends with an error, after it has planned something.

resource "terraform_data" "updated" {
  input = "canary-new"
}

resource "terraform_data" "refused" {
  input = "canary-refused"
  lifecycle {
    precondition {
      condition     = terraform_data.updated.id == "another"
      error_message = "canary-message"
    }
  }
}
