check "ssh" {
  assert {
    condition     = length(var.admin_prefixes) > 0
    error_message = "${local.full_name}: nobody can log in, for admin_prefixes is empty; name the networks of those who run it and of the CI that deploys."
  }
}

check "docker_networks" {
  assert {
    condition     = !can(regex("^172\\.(17|18|19|2[0-9]|3[01])\\.", var.cidr))
    error_message = "${local.full_name}: Docker gives its own networks addresses of ${var.cidr}; take a prefix of 10.0.0.0/8 for cidr."
  }
}
