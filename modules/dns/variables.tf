variable "zone_id" {
  description = "Id of the zone at Cloudflare, 32 hexadecimal digits: on the zone's overview page"
  type        = string

  validation {
    condition     = can(regex("^[0-9a-f]{32}$", var.zone_id))
    error_message = "zone_id has 32 hexadecimal digits: copy it from the zone's overview page at Cloudflare."
  }
}

variable "name" {
  description = "Whole name of the record, with the zone's. Example: test.example.org"
  type        = string

  validation {
    condition     = can(regex("^(\\*\\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$", var.name))
    error_message = "name is a whole name such as test.example.org, not ${var.name}."
  }
}

variable "ipv4" {
  description = "Address that the name stands for. Example: module.backend.ipv4"
  type        = string

  validation {
    condition     = can(cidrnetmask("${var.ipv4}/32"))
    error_message = "ipv4 is an address such as 198.51.100.7, not ${var.ipv4}."
  }
}

# optional

variable "ttl" {
  description = "Seconds for which others remember the address; 1 for Cloudflare's choice. Example: 300"
  type        = number
  default     = 300

  validation {
    condition     = var.ttl == 1 || (var.ttl >= 60 && var.ttl <= 86400)
    error_message = "ttl is 1, or 60 to 86400 seconds, not ${var.ttl}."
  }
}
