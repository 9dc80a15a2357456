# The schemas are the real provider's; no cloud is asked.
mock_provider "ovh" {
  mock_resource "ovh_cloud_project_database" {
    defaults = {
      id = "id-of-service"
      endpoints = [
        { component = "pgbouncer", domain = "pool.example.org", path = "", port = 20185, scheme = "postgresql", ssl = true, ssl_mode = "require", uri = "" },
        { component = "postgresql", domain = "db.example.org", path = "", port = 20184, scheme = "postgresql", ssl = true, ssl_mode = "require", uri = "" },
      ]
    }
  }
  mock_resource "ovh_cloud_project_database_postgresql_user" {
    defaults = { password = "not/a real+password" }
  }
  mock_data "ovh_cloud_project_database_certificates" {
    defaults = { ca = "-----BEGIN CERTIFICATE-----" }
  }
}

variables {
  environment = "test"
  project_id  = "0123456789abcdef0123456789abcdef"
  region      = "GRA"
  network_id  = "id-of-network"
  subnet_id   = "id-of-subnet"
  cidr        = "10.1.0.0/24"
  databases   = ["app"]
  users       = { avnadmin = {}, backend = {} }

  # The end of a test destroys what it has made.
  deletion_protection = false
}

run "defaults" {
  assert {
    condition     = output.name == "test-postgresql" && ovh_cloud_project_database.postgresql.engine == "postgresql" && ovh_cloud_project_database.postgresql.version == "17"
    error_message = "This is ${ovh_cloud_project_database.postgresql.engine} ${ovh_cloud_project_database.postgresql.version}, ${output.name}."
  }
  assert {
    condition     = ovh_cloud_project_database.postgresql.plan == "essential" && ovh_cloud_project_database.postgresql.flavor == "db1-4" && length(ovh_cloud_project_database.postgresql.nodes) == 1
    error_message = "This is no single db1-4."
  }
  assert {
    condition     = ovh_cloud_project_database.postgresql.nodes[0].region == "GRA" && ovh_cloud_project_database.postgresql.nodes[0].network_id == "id-of-network" && ovh_cloud_project_database.postgresql.nodes[0].subnet_id == "id-of-subnet"
    error_message = "The node is not on the private network."
  }
  assert {
    condition     = [for restriction in ovh_cloud_project_database.postgresql.ip_restrictions : restriction.ip] == ["10.1.0.0/24"]
    error_message = "Others than the private network may connect."
  }
}

run "outputs" {
  assert {
    condition     = output.id == "id-of-service" && output.host == "db.example.org" && output.port == 20184 && output.databases == tolist(["app"])
    error_message = "The database is at ${output.host}:${output.port}, with ${join(", ", output.databases)}."
  }
  assert {
    condition     = issensitive(output.passwords) && issensitive(output.uris)
    error_message = "Passwords would be shown."
  }
  assert {
    condition     = nonsensitive(output.passwords) == { avnadmin = "not/a real+password", backend = "not/a real+password" }
    error_message = "A user has no password."
  }
  assert {
    condition     = nonsensitive(output.uris)["backend"]["app"] == "postgresql://backend:not%2Fa%20real%2Bpassword@db.example.org:20184/app?sslmode=verify-full"
    error_message = "The URI is not that of backend on app."
  }
}

run "certificate" {
  assert {
    condition     = output.ca_certificate == "-----BEGIN CERTIFICATE-----"
    error_message = "The authority's certificate is ${output.ca_certificate}."
  }
}

run "nodes_by_plan" {
  command = plan
  variables {
    plan      = "production"
    flavor    = "b3-8"
    disk_size = 160
  }

  assert {
    condition     = length(ovh_cloud_project_database.postgresql.nodes) == 2 && ovh_cloud_project_database.postgresql.disk_size == 160
    error_message = "Plan production has ${length(ovh_cloud_project_database.postgresql.nodes)} nodes."
  }
}

run "users_and_databases_are_data" {
  command = plan
  variables {
    databases = ["app", "sync"]
    users = {
      avnadmin = {}
      sync     = { roles = ["replication"], password_reset = "2027-01" }
    }
  }

  assert {
    condition     = keys(ovh_cloud_project_database_database.database) == ["app", "sync"]
    error_message = "The databases are ${join(", ", keys(ovh_cloud_project_database_database.database))}."
  }
  assert {
    condition     = ovh_cloud_project_database_postgresql_user.user["sync"].roles == toset(["replication"]) && ovh_cloud_project_database_postgresql_user.user["sync"].password_reset == "2027-01"
    error_message = "The role, or the reset, of a user is lost."
  }
}

run "more_prefixes" {
  command = plan
  variables {
    more_prefixes = { "10.2.0.0/24" = "the office, by the vRack" }
  }

  assert {
    condition     = toset([for r in ovh_cloud_project_database.postgresql.ip_restrictions : "${r.ip} ${r.description}"]) == toset(["10.1.0.0/24 the private network", "10.2.0.0/24 the office, by the vRack"])
    error_message = "Other networks than those named may connect."
  }
}

run "settings" {
  command = plan
  variables {
    settings         = { max_parallel_workers = "4" }
    backup_time      = "02:00:00"
    maintenance_time = "03:00:00"
  }

  assert {
    condition     = ovh_cloud_project_database.postgresql.advanced_configuration == tomap({ max_parallel_workers = "4" }) && ovh_cloud_project_database.postgresql.backup_time == "02:00:00" && ovh_cloud_project_database.postgresql.maintenance_time == "03:00:00"
    error_message = "A setting is lost."
  }
}

run "too_few_nodes" {
  command = plan
  variables {
    plan  = "business"
    nodes = 1
  }
  expect_failures = [check.nodes]
}

run "too_many_nodes" {
  command = plan
  variables {
    nodes = 2
  }
  expect_failures = [check.nodes]
}

run "plan_of_another_generation" {
  command = plan
  variables {
    flavor = "b3-8"
  }
  expect_failures = [check.generation]
}
