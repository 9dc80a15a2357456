resource "ovh_cloud_project_database_database" "database" {
  for_each = var.databases

  service_name = var.project_id
  engine       = ovh_cloud_project_database.postgresql.engine
  cluster_id   = ovh_cloud_project_database.postgresql.id
  name         = each.key

  lifecycle {
    prevent_destroy = var.deletion_protection
  }
}

resource "ovh_cloud_project_database_postgresql_user" "user" {
  for_each = var.users

  service_name   = var.project_id
  cluster_id     = ovh_cloud_project_database.postgresql.id
  name           = each.key
  roles          = each.value.roles
  password_reset = each.value.password_reset
}
