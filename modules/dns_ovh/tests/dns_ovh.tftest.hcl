# The schemas are the real provider's; no cloud is asked.
mock_provider "ovh" {}

variables {
  zone      = "example.org"
  name      = "test.example.org"
  addresses = { A = "198.51.100.7", AAAA = "2001:db8::7" }
}

run "both_addresses" {
  assert {
    condition     = output.name == "test.example.org"
    error_message = "The name is ${output.name}."
  }
  assert {
    condition     = { for type, record in ovh_domain_zone_record.address : type => "${record.subdomain} ${record.fieldtype} ${record.target} in ${record.zone} for ${record.ttl}" } == { A = "test A 198.51.100.7 in example.org for 300", AAAA = "test AAAA 2001:db8::7 in example.org for 300" }
    error_message = "The records are others."
  }
}

run "one_address" {
  variables {
    addresses = { A = "198.51.100.7" }
    ttl       = 60
  }
  assert {
    condition     = keys(ovh_domain_zone_record.address) == ["A"] && ovh_domain_zone_record.address["A"].ttl == 60
    error_message = "The records are others."
  }
}

run "the_zone_itself" {
  variables {
    name = "example.org"
  }
  assert {
    condition     = ovh_domain_zone_record.address["A"].subdomain == ""
    error_message = "The subdomain is ${ovh_domain_zone_record.address["A"].subdomain}."
  }
}

run "a_name_further_down" {
  variables {
    name = "*.api.test.example.org"
  }
  assert {
    condition     = ovh_domain_zone_record.address["A"].subdomain == "*.api.test"
    error_message = "The subdomain is ${ovh_domain_zone_record.address["A"].subdomain}."
  }
}
