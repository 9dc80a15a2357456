# What the module refuses, and that it does before anything is planned.
mock_provider "ovh" {}

variables {
  zone      = "example.org"
  name      = "test.example.org"
  addresses = { A = "198.51.100.7", AAAA = "2001:db8::7" }
}

run "zone_with_a_dot" {
  command = plan
  variables {
    zone = "example.org."
  }
  expect_failures = [var.zone]
}

run "name_of_another_zone" {
  command = plan
  variables {
    name = "test.example.net"
  }
  expect_failures = [var.name]
}

run "name_that_only_ends_alike" {
  command = plan
  variables {
    name = "test.myexample.org"
  }
  expect_failures = [var.name]
}

run "name_without_a_zone" {
  command = plan
  variables {
    name = "test"
  }
  expect_failures = [var.name]
}

run "name_in_capitals" {
  command = plan
  variables {
    name = "Test.example.org"
  }
  expect_failures = [var.name]
}

run "no_address" {
  command = plan
  variables {
    addresses = {}
  }
  expect_failures = [var.addresses]
}

run "another_type" {
  command = plan
  variables {
    addresses = { A = "198.51.100.7", TXT = "hello" }
  }
  expect_failures = [var.addresses]
}

run "ipv6_as_ipv4" {
  command = plan
  variables {
    addresses = { A = "2001:db8::7" }
  }
  expect_failures = [var.addresses]
}

run "ipv4_as_ipv6" {
  command = plan
  variables {
    addresses = { AAAA = "198.51.100.7" }
  }
  expect_failures = [var.addresses]
}

run "a_host_without_ipv6" {
  command = plan
  variables {
    addresses = { A = "198.51.100.7", AAAA = "" }
  }
  expect_failures = [var.addresses]
}

run "ttl_of_a_second" {
  command = plan
  variables {
    ttl = 1
  }
  expect_failures = [var.ttl]
}

run "ttl_of_a_week" {
  command = plan
  variables {
    ttl = 604800
  }
  expect_failures = [var.ttl]
}
