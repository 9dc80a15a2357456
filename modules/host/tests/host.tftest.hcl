variables {
  environment    = "test"
  name           = "web"
  size           = "small"
  admin_password = "not-a-real-password"
}

run "full_name" {
  assert {
    condition     = output.full_name == "test-web"
    error_message = "The full name is ${output.full_name}."
  }
}

run "unknown_size" {
  command = plan
  variables {
    size = "huge"
  }
  expect_failures = [var.size]
}

run "bad_name" {
  command = plan
  variables {
    name = "Web 1"
  }
  expect_failures = [var.name]
}
