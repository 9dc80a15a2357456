# names

variable "environment" {
  description = "Environment that the host belongs to: the first part of every name. Example: test"
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.environment))
    error_message = "An environment's name has small letters, digits and dashes, and begins with a letter: rename ${var.environment}."
  }
}

variable "name" {
  description = "Name of the host within its environment. Example: backend"
  type        = string
  default     = "backend"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.name))
    error_message = "A host's name has small letters, digits and dashes, and begins with a letter: rename ${var.name}."
  }
}

# machine

variable "flavor" {
  description = "Size of the host, by OVH's name; another one resizes it in place, with a reboot. Example: b3-8"
  type        = string
  default     = "b3-8"
}

variable "image" {
  description = "Name of the image that the host is made from; another name replaces the host. Example: Debian 13"
  type        = string
  default     = "Debian 13"
}

variable "zone" {
  description = "Availability zone, in a region that has several; null for OVH's choice. Example: eu-west-par-a"
  type        = string
  default     = null
}

variable "running" {
  description = "Whether the host runs. If not, it is shelved: its disk and its addresses are kept, its size is not paid for"
  type        = bool
  default     = true
}

# access

variable "user" {
  description = "User that the image makes, with the SSH key and sudo. Example: debian"
  type        = string
  default     = "debian"
}

variable "ssh_public_key" {
  description = "Public SSH key of those who run the host; another one replaces the host. Example: ssh-ed25519 AAAA…"
  type        = string

  validation {
    condition     = can(regex("^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/=]+( [^\n]*)?\n?$", var.ssh_public_key))
    error_message = "ssh_public_key is one line such as `ssh-ed25519 AAAA…`: give what `cat ~/.ssh/id_ed25519.pub` prints."
  }
}

variable "host_key" {
  description = "Private ed25519 key of the host's SSH server, in OpenSSH's form; another one replaces the host"
  type        = string
  sensitive   = true

  validation {
    condition     = startswith(trimspace(var.host_key), "-----BEGIN OPENSSH PRIVATE KEY-----") && endswith(trimspace(var.host_key), "-----END OPENSSH PRIVATE KEY-----")
    error_message = "host_key is not a private key in OpenSSH's form: make one with `ssh-keygen -t ed25519 -N '' -f host_key`."
  }
}

variable "host_key_public" {
  description = "Public half of host_key. Example: ssh-ed25519 AAAA…"
  type        = string

  validation {
    condition     = can(regex("^ssh-ed25519 [A-Za-z0-9+/]{68}( [^\n]*)?\n?$", var.host_key_public))
    error_message = "host_key_public is one line such as `ssh-ed25519 AAAA…`: give what `ssh-keygen -y -f host_key` prints."
  }

  # An unencrypted ed25519 key ends with its public half, at such a place that 40
  # characters of base64 are the same in both files. With halves that do not match,
  # sshd would not start, and nobody could log in to see why.
  validation {
    condition     = strcontains(replace(var.host_key, "/\\s/", ""), try(substr(split(" ", var.host_key_public)[1], 28, 40), "-"))
    error_message = "host_key_public is not the public half of host_key: give what `ssh-keygen -y -f host_key` prints."
  }
}

variable "admin_prefixes" {
  description = "Networks from which SSH is allowed; an empty list allows none. Example: [\"192.0.2.0/24\", \"2001:db8::/48\"]"
  type        = list(string)

  validation {
    condition     = alltrue([for prefix in var.admin_prefixes : try(cidrhost(prefix, 0) == split("/", prefix)[0], false)])
    error_message = "Each of admin_prefixes is a network's first address and length, such as 192.0.2.0/24; one address is 192.0.2.1/32."
  }
  validation {
    condition     = alltrue([for prefix in var.admin_prefixes : !endswith(prefix, "/0")])
    error_message = "admin_prefixes would allow SSH from everywhere: name your networks, or write such a rule in `rules`, on purpose."
  }
}

# network

variable "cidr" {
  description = "IPv4 prefix of the private network; another one replaces it with all that is on it. Example: 10.1.0.0/24"
  type        = string
  default     = "10.1.0.0/24"

  validation {
    condition     = can(cidrnetmask(var.cidr)) && can(regex("^(10|172\\.(1[6-9]|2[0-9]|3[01])|192\\.168)\\.", var.cidr))
    error_message = "cidr is a private IPv4 prefix such as 10.1.0.0/24, not ${var.cidr}."
  }
  validation {
    condition     = try(cidrhost(var.cidr, 0) == split("/", var.cidr)[0] && tonumber(split("/", var.cidr)[1]) <= 27, false)
    error_message = "cidr is a network's first address and a length of at most 27, for a database takes several addresses: not ${var.cidr}."
  }
}

variable "vlan_id" {
  description = "VLAN of the private network in the vRack, 1 to 4000; null for a free one. Example: 101"
  type        = number
  default     = null

  validation {
    condition     = var.vlan_id == null || try(var.vlan_id >= 1 && var.vlan_id <= 4000 && floor(var.vlan_id) == var.vlan_id, false)
    error_message = "A vRack's VLAN is a whole number from 1 to 4000; leave vlan_id out for a free one."
  }
}

variable "name_servers" {
  description = "Name servers that the private network's DHCP gives out; OVH's own by default. Example: [\"213.186.33.99\"]"
  type        = list(string)
  default     = ["213.186.33.99"]
}

variable "public_network" {
  description = "Name of the cloud's public network. Example: Ext-Net"
  type        = string
  default     = "Ext-Net"
}

# firewall

variable "rules" {
  description = <<-EOT
    What may come in besides SSH, by name: a protocol (tcp, udp, icmp or ipv6-icmp), a port or a range of ports, and the
    networks it comes from, which are all of them by default. Example:
      { mqtts = { description = "MQTT over TLS", port_min = 8883, prefixes = ["198.51.100.0/24"] } }
  EOT
  type = map(object({
    description = string
    direction   = optional(string, "ingress")
    protocol    = optional(string, "tcp")
    port_min    = optional(number)
    port_max    = optional(number) # port_min without it
    prefixes    = optional(list(string), ["0.0.0.0/0", "::/0"])
  }))
  default = {
    http  = { description = "HTTP, for redirects and certificates", port_min = 80 }
    https = { description = "HTTPS", port_min = 443 }
  }

  validation {
    condition     = alltrue([for rule in var.rules : rule.direction == "ingress"])
    error_message = "A rule's direction is ingress: what leaves the host is allowed already."
  }
  validation {
    condition     = alltrue([for rule in var.rules : contains(["tcp", "udp", "icmp", "ipv6-icmp"], rule.protocol)])
    error_message = "A rule's protocol is tcp, udp, icmp or ipv6-icmp."
  }
  validation {
    condition = alltrue([
      for rule in var.rules : try(rule.port_min >= 1 && coalesce(rule.port_max, rule.port_min) >= rule.port_min && coalesce(rule.port_max, rule.port_min) <= 65535, false)
      if !strcontains(rule.protocol, "icmp")
    ])
    error_message = "A rule for tcp or udp has port_min and, for a range, a port_max that is not smaller: ports are 1 to 65535."
  }
  validation {
    condition     = alltrue([for rule in var.rules : rule.port_min == null && rule.port_max == null if strcontains(rule.protocol, "icmp")])
    error_message = "A rule for icmp or ipv6-icmp has no ports: leave port_min and port_max out."
  }
  validation {
    condition     = alltrue(flatten([for rule in var.rules : [for prefix in rule.prefixes : try(cidrhost(prefix, 0) == split("/", prefix)[0], false)]]))
    error_message = "Each of a rule's prefixes is a network's first address and length, such as 198.51.100.0/24; one address is 198.51.100.1/32."
  }
  validation {
    condition     = !contains(keys(var.rules), "ssh")
    error_message = "The rule named ssh is made of admin_prefixes: put the networks there, or give the rule another name."
  }
}

# configuration

variable "packages" {
  description = "Packages to install. The default is Docker with compose, on Debian 13; there is no docker-cli on Debian 12"
  type        = list(string)
  default     = ["docker.io", "docker-cli", "docker-compose"]

  validation {
    condition     = contains(var.packages, "docker.io")
    error_message = "The host is ready when Docker runs: keep docker.io among the packages."
  }
}

variable "groups" {
  description = "Groups of the host in Ansible's inventory, besides its environment. Example: [\"backend\"]"
  type        = list(string)
  default     = ["backend"]

  validation {
    condition     = alltrue([for group in var.groups : can(regex("^[a-z][a-z0-9_]*$", group))])
    error_message = "An inventory's group has small letters, digits and underscores, and begins with a letter."
  }
}
