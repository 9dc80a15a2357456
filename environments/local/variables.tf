variable "hosts" {
  description = "Hosts by name. Example: { web = { size = \"small\" } }"
  type        = map(object({ size = string }))
  default = {
    web = { size = "small" }
    db  = { size = "large" }
  }
}

variable "admin_password" {
  description = "Password of the hosts' administrator: TF_VAR_admin_password in credentials/local.enc.env"
  type        = string
  sensitive   = true
}
