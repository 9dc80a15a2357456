variable "zone" {
  description = "DNS zone at OVH. Example: example.org"
  type        = string

  validation {
    condition     = can(regex("^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z][a-z0-9-]*[a-z0-9]$", var.zone))
    error_message = "zone is a domain such as example.org, not ${var.zone}."
  }
}

variable "name" {
  description = "Whole name of the records, with the zone's. Example: test.example.org"
  type        = string

  validation {
    condition     = can(regex("^(\\*\\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z][a-z0-9-]*[a-z0-9]$", var.name))
    error_message = "name is a whole name such as test.example.org, not ${var.name}."
  }
  validation {
    condition     = var.name == var.zone || endswith(var.name, ".${var.zone}")
    error_message = "name ${var.name} is not in zone ${var.zone}: write it whole, such as test.${var.zone}."
  }
}

variable "addresses" {
  description = "Address for each type of record. Example: { A = module.backend.ipv4, AAAA = module.backend.ipv6 }"
  type        = map(string)

  validation {
    condition     = length(var.addresses) > 0 && length(setsubtract(keys(var.addresses), ["A", "AAAA"])) == 0
    error_message = "addresses has A, AAAA or both, not ${jsonencode(keys(var.addresses))}."
  }
  validation {
    condition     = can(cidrnetmask("${lookup(var.addresses, "A", "192.0.2.1")}/32"))
    error_message = "A is an IPv4 address such as 198.51.100.7, not ${lookup(var.addresses, "A", "")}."
  }
  validation {
    condition     = can(regex(":", lookup(var.addresses, "AAAA", "::"))) && can(cidrhost("${lookup(var.addresses, "AAAA", "::")}/128", 0))
    error_message = "AAAA is an IPv6 address such as 2001:db8::7, not ${jsonencode(lookup(var.addresses, "AAAA", ""))}: leave AAAA out where the host has none."
  }
}

# optional

variable "ttl" {
  description = "Seconds for which others remember the address. Example: 300"
  type        = number
  default     = 300

  validation {
    condition     = var.ttl >= 60 && var.ttl <= 86400 && floor(var.ttl) == var.ttl
    error_message = "ttl is 60 to 86400 seconds, not ${var.ttl}."
  }
}
