# Each is TF_VAR_<name> in the credentials: see credentials/README.md.

variable "ssh_public_key" {
  description = "Public SSH key that the hosts let in. Example: ssh-ed25519 AAAA…"
  type        = string
}

variable "host_key" {
  description = "Private key of the backend's SSH server, in OpenSSH's form"
  type        = string
  sensitive   = true
}

variable "host_key_public" {
  description = "Public half of host_key. Example: ssh-ed25519 AAAA…"
  type        = string
}
