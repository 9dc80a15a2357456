output "hosts" {
  description = "Full names of the hosts, by name"
  value       = { for name, host in module.host : name => host.full_name }
}

output "admin_password" {
  description = "Password of the hosts' administrator"
  value       = var.admin_password
  sensitive   = true
}
