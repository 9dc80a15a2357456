variable "environment" {
  description = "Environment that the host belongs to: the first part of its full name. Example: test"
  type        = string
}

variable "name" {
  description = "Name of the host. Example: web"
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.name))
    error_message = "A host's name has small letters, digits and dashes, and begins with a letter: rename ${var.name}."
  }
}

variable "size" {
  description = "Size of the host: small, medium or large"
  type        = string

  validation {
    condition     = contains(["small", "medium", "large"], var.size)
    error_message = "A host is small, medium or large, not ${var.size}."
  }
}

variable "admin_password" {
  description = "Password of the administrator"
  type        = string
  sensitive   = true
}
