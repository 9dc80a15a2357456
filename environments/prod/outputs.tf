output "ansible_inventory" {
  description = "The hosts, by name, as Ansible's inventory needs them"
  value       = { (module.backend.name) = module.backend.ansible_inventory }
}

output "backend" {
  description = "Name and addresses of the backend"
  value = {
    name       = module.dns.name
    ipv4       = module.backend.ipv4
    ipv6       = module.backend.ipv6
    private_ip = module.backend.private_ip
  }
}

output "database" {
  description = "Where the private network reaches the database"
  value = {
    host      = module.database.host
    port      = module.database.port
    databases = module.database.databases
  }
}

output "database_uris" {
  description = "URIs of the databases, by user and database"
  value       = module.database.uris
  sensitive   = true
}

output "ansible_vars" {
  description = "Variables of the playbook"
  value = {
    site_domain          = module.dns.name
    site_private_address = module.backend.private_ip
    site_database = {
      host           = module.database.host
      port           = module.database.port
      name           = "app"
      ca_certificate = module.database.ca_certificate
    }
  }
}

output "ansible_secrets" {
  description = "Secrets of the playbook; maps are merged with those of ansible_vars"
  value       = { site_database = { passwords = module.database.passwords } }
  sensitive   = true
}
