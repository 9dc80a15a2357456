# names

variable "environment" {
  description = "Environment that the database belongs to: the first part of its name. Example: test"
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.environment))
    error_message = "An environment's name has small letters, digits and dashes, and begins with a letter: rename ${var.environment}."
  }
}

variable "name" {
  description = "Name of the database service within its environment. Example: postgresql"
  type        = string
  default     = "postgresql"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.name))
    error_message = "A service's name has small letters, digits and dashes, and begins with a letter: rename ${var.name}."
  }
}

variable "project_id" {
  description = "Id of the Public Cloud project, 32 hexadecimal digits"
  type        = string

  validation {
    condition     = can(regex("^[0-9a-f]{32}$", var.project_id))
    error_message = "project_id has 32 hexadecimal digits: copy it from the Control Panel, below the project's name."
  }
}

# service

variable "region" {
  description = "Region of the database, which OVH does not always call as that of instances. Example: GRA, beside GRA11"
  type        = string

  validation {
    condition     = can(regex("^[A-Z][A-Z-]*$", var.region))
    error_message = "A database's region is such as GRA or EU-WEST-PAR, without a number, not ${var.region}."
  }
}

variable "database_version" {
  description = "Major version of PostgreSQL, at most 17; a higher one upgrades in place, and there is no way back. Example: 17"
  type        = string
  default     = "17"

  validation {
    condition     = can(regex("^1[0-9]$", var.database_version))
    error_message = "database_version is a major version such as 17, not ${var.database_version}."
  }
  validation {
    condition     = try(tonumber(var.database_version) <= 17, true)
    error_message = "TimescaleDB is not available on PostgreSQL ${var.database_version} at OVH: stay on 17."
  }
}

variable "plan" {
  description = "Plan: essential, business or enterprise for flavors db1-…; production or advanced for b3-…. It can only be raised"
  type        = string
  default     = "essential"

  validation {
    condition     = contains(["essential", "business", "enterprise", "production", "advanced"], var.plan)
    error_message = "A plan is essential, business, enterprise, production or advanced, not ${var.plan}."
  }
}

variable "flavor" {
  description = "Size of each node, by OVH's name; it can only be raised. Example: db1-4"
  type        = string
  default     = "db1-4"

  validation {
    condition     = can(regex("^(db[0-9]|b[0-9])-[0-9]+$", var.flavor))
    error_message = "A flavor is such as db1-4 or b3-8, not ${var.flavor}: OVH's price list has them all."
  }
}

variable "nodes" {
  description = "Number of nodes; null for as many as the plan has at least: 1, 2 or 3. Example: 2"
  type        = number
  default     = null

  validation {
    condition     = var.nodes == null || try(var.nodes >= 1 && floor(var.nodes) == var.nodes, false)
    error_message = "nodes is a whole number from 1; leave it out for as many as the plan has."
  }
}

variable "disk_size" {
  description = "Disk of the service in GB; null for as much as the flavor has. It can only be raised. Example: 160"
  type        = number
  default     = null

  validation {
    condition     = var.disk_size == null || try(var.disk_size > 0 && floor(var.disk_size) == var.disk_size, false)
    error_message = "disk_size is a whole number of GB; leave it out for as much as the flavor has."
  }
}

# network

variable "network_id" {
  description = "Id of the private network that the database is on, in the same region; another one replaces the database"
  type        = string
}

variable "subnet_id" {
  description = "Id of that network's subnet"
  type        = string
}

variable "cidr" {
  description = "Prefix of that subnet: whatever is on it may connect, and nothing else. Example: 10.1.0.0/24"
  type        = string

  validation {
    condition     = try(cidrhost(var.cidr, 0) == split("/", var.cidr)[0], false) && !endswith(var.cidr, "/0")
    error_message = "cidr is a network's first address and length, such as 10.1.0.0/24, and not everywhere: not ${var.cidr}."
  }
}

variable "more_prefixes" {
  description = "Further networks that may connect, with what they are. Example: { \"10.2.0.0/24\" = \"the office, by the vRack\" }"
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for prefix in keys(var.more_prefixes) : try(cidrhost(prefix, 0) == split("/", prefix)[0], false)])
    error_message = "Each of more_prefixes is a network's first address and length, such as 10.2.0.0/24; one address is 10.2.0.1/32."
  }
  validation {
    condition     = alltrue([for prefix in keys(var.more_prefixes) : !endswith(prefix, "/0")])
    error_message = "more_prefixes would open the database to everywhere: name the networks."
  }
}

# contents

variable "databases" {
  description = "Databases, besides OVH's defaultdb. Example: [\"app\"]"
  type        = set(string)

  validation {
    condition     = alltrue([for name in var.databases : can(regex("^[a-z_][a-z0-9_-]{0,62}$", name)) && name != "defaultdb"])
    error_message = "A database's name has small letters, digits, _ and -, and begins with a letter; defaultdb is there already."
  }
}

variable "users" {
  description = <<-EOT
    Users by name. OVH makes up the passwords; another value of password_reset, whatever it is, makes a new one. The user
    avnadmin is the administrator that OVH has made already. Example: { avnadmin = {}, backend = { password_reset = "2027-01" } }
  EOT
  type = map(object({
    roles          = optional(set(string)) # replication is the one that there is
    password_reset = optional(string)
  }))

  validation {
    condition     = alltrue([for name in keys(var.users) : can(regex("^[a-z_][a-z0-9_-]{0,62}$", name))])
    error_message = "A user's name has small letters, digits, _ and -, and begins with a letter."
  }
  validation {
    condition     = alltrue(flatten([for user in var.users : [for role in coalesce(user.roles, []) : role == "replication"]]))
    error_message = "OVH has one role, replication: give every other right by SQL, as the README says."
  }
  validation {
    condition     = try(var.users["avnadmin"].roles, null) == null
    error_message = "The roles of avnadmin are OVH's: leave them out."
  }
}

# optional

variable "deletion_protection" {
  description = "Refuse any plan that deletes or replaces the database; it is OpenTofu that refuses, not OVH"
  type        = bool
  default     = true
}

variable "settings" {
  description = "Settings of PostgreSQL, by OVH's names; null for OVH's own. Example: { max_parallel_workers = \"4\" }"
  type        = map(string)
  default     = null
}

variable "backup_time" {
  description = "Time of the daily backup, UTC; null for OVH's choice. Example: 02:00:00"
  type        = string
  default     = null

  validation {
    condition     = var.backup_time == null || can(regex("^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$", var.backup_time))
    error_message = "backup_time is such as 02:00:00."
  }
}

variable "maintenance_time" {
  description = "Time from which OVH may do maintenance, UTC; null for OVH's choice. Example: 03:00:00"
  type        = string
  default     = null

  validation {
    condition     = var.maintenance_time == null || can(regex("^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$", var.maintenance_time))
    error_message = "maintenance_time is such as 03:00:00."
  }
}
