# What the module refuses, and that it does before anything is planned.
mock_provider "ovh" {
  mock_resource "ovh_cloud_project_database" {
    defaults = {
      endpoints = [{ component = "postgresql", domain = "db.example.org", path = "", port = 20184, scheme = "postgresql", ssl = true, ssl_mode = "require", uri = "" }]
    }
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
  users       = { backend = {} }
}

run "environment" {
  command = plan
  variables {
    environment = "Test 1"
  }
  expect_failures = [var.environment]
}

run "name" {
  command = plan
  variables {
    name = "my_db"
  }
  expect_failures = [var.name]
}

run "project_by_name" {
  command = plan
  variables {
    project_id = "my project"
  }
  expect_failures = [var.project_id]
}

run "region_of_instances" {
  command = plan
  variables {
    region = "GRA11"
  }
  expect_failures = [var.region]
}

run "version_without_timescaledb" {
  command = plan
  variables {
    database_version = "18"
  }
  expect_failures = [var.database_version]
}

run "minor_version" {
  command = plan
  variables {
    database_version = "17.2"
  }
  expect_failures = [var.database_version]
}

run "plan" {
  command = plan
  variables {
    plan = "free"
  }
  expect_failures = [var.plan]
}

run "flavor" {
  command = plan
  variables {
    flavor = "small"
  }
  expect_failures = [var.flavor]
}

run "no_nodes" {
  command = plan
  variables {
    nodes = 0
  }
  expect_failures = [var.nodes]
}

run "half_a_node" {
  command = plan
  variables {
    nodes = 1.5
  }
  expect_failures = [var.nodes]
}

run "no_disk" {
  command = plan
  variables {
    disk_size = 0
  }
  expect_failures = [var.disk_size]
}

run "no_cidr" {
  command = plan
  variables {
    cidr = "10.1.0.0"
  }
  expect_failures = [var.cidr]
}

run "cidr_within_a_network" {
  command = plan
  variables {
    cidr = "10.1.0.5/24"
  }
  expect_failures = [var.cidr]
}

run "cidr_of_everything" {
  command = plan
  variables {
    cidr = "0.0.0.0/0"
  }
  expect_failures = [var.cidr]
}

run "more_without_length" {
  command = plan
  variables {
    more_prefixes = { "10.2.0.1" = "a host" }
  }
  expect_failures = [var.more_prefixes]
}

run "open_to_everywhere" {
  command = plan
  variables {
    more_prefixes = { "0.0.0.0/0" = "everybody" }
  }
  expect_failures = [var.more_prefixes]
}

run "database_by_default" {
  command = plan
  variables {
    databases = ["defaultdb"]
  }
  expect_failures = [var.databases]
}

run "database_in_capitals" {
  command = plan
  variables {
    databases = ["App"]
  }
  expect_failures = [var.databases]
}

run "user_with_space" {
  command = plan
  variables {
    users = { "the backend" = {} }
  }
  expect_failures = [var.users]
}

run "user_with_unknown_role" {
  command = plan
  variables {
    users = { backend = { roles = ["superuser"] } }
  }
  expect_failures = [var.users]
}

run "administrator_with_roles" {
  command = plan
  variables {
    users = { avnadmin = { roles = ["replication"] } }
  }
  expect_failures = [var.users]
}

run "backup_time" {
  command = plan
  variables {
    backup_time = "2 o'clock"
  }
  expect_failures = [var.backup_time]
}

run "maintenance_time" {
  command = plan
  variables {
    maintenance_time = "25:00:00"
  }
  expect_failures = [var.maintenance_time]
}
