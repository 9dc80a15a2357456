locals {
  # Several components can have an endpoint: this is the database's own. A service that
  # is not ready may have none, and must be taken into the state all the same.
  endpoint = try([
    for endpoint in ovh_cloud_project_database.postgresql.endpoints : endpoint
    if endpoint.component == "postgresql"
  ][0], { domain = "", port = 0 })
}

output "id" {
  description = "Id of the service"
  value       = ovh_cloud_project_database.postgresql.id
}

output "name" {
  description = "Full name of the service. Example: test-postgresql"
  value       = ovh_cloud_project_database.postgresql.description
}

output "host" {
  description = "Name by which the private network reaches the database"
  value       = local.endpoint.domain
}

output "port" {
  description = "Port of the database"
  value       = local.endpoint.port
}

data "ovh_cloud_project_database_certificates" "postgresql" {
  service_name = var.project_id
  engine       = ovh_cloud_project_database.postgresql.engine
  cluster_id   = ovh_cloud_project_database.postgresql.id
}

output "ca_certificate" {
  description = "Certificate of the authority that vouches for the database, in PEM: what sslmode=verify-full needs"
  value       = data.ovh_cloud_project_database_certificates.postgresql.ca
}

output "databases" {
  description = "Names of the databases"
  value       = sort([for database in ovh_cloud_project_database_database.database : database.name])
}

output "passwords" {
  description = "Passwords by user"
  value       = { for name, user in ovh_cloud_project_database_postgresql_user.user : name => user.password }
  sensitive   = true
}

output "uris" {
  description = "URIs by user and database. Example: uris[\"backend\"][\"app\"]"
  # A user that recover took into the state has no password until the next apply.
  value = {
    for name, user in ovh_cloud_project_database_postgresql_user.user : name => {
      for database in ovh_cloud_project_database_database.database : database.name =>
      "postgresql://${name}:${replace(urlencode(user.password == null ? "" : user.password), "+", "%20")}@${local.endpoint.domain}:${local.endpoint.port}/${database.name}?sslmode=verify-full"
    }
  }
  sensitive = true
}
