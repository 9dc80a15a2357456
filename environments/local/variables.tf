variable "hosts" {
  description = "Hosts by name. Example: { web = { size = \"small\" } }"
  type        = map(object({ size = string }))
  default = {
    web = { size = "small" }
    db  = { size = "large" }
  }
}

variable "operator_key" {
  description = "Public SSH key of the operator. Example: ssh-ed25519 AAAA… operator@example.org"
  type        = string
  # Nobody has the private one.
  default = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPd+J1ikZpA8a8/X8xTwmv+l4+rePyt0cQcjX9mI7FWU operator@example.org"
}

variable "admin_password" {
  description = "Password of the hosts' administrator: TF_VAR_admin_password in credentials/local.enc.env"
  type        = string
  sensitive   = true
}
