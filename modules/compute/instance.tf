locals {
  full_name = "${var.environment}-${var.name}"
}

data "openstack_images_image_v2" "host" {
  name        = var.image
  most_recent = true
}

# Another name of an image replaces the host, and the plan says so.
resource "terraform_data" "image" {
  input = var.image
}

resource "openstack_compute_instance_v2" "host" {
  name              = local.full_name
  flavor_name       = var.flavor
  image_id          = data.openstack_images_image_v2.host.id
  availability_zone = var.zone
  key_pair          = openstack_compute_keypair_v2.admin.name
  security_groups   = [openstack_networking_secgroup_v2.host.name]
  power_state       = var.running ? "active" : "shelved_offloaded"

  # Services get the time to end well.
  stop_before_destroy = true

  # Contains the host's private key: the state keeps its SHA-1 only.
  user_data = templatefile("${path.module}/files/user-data.yaml.tftpl", {
    host_key        = "${trimspace(var.host_key)}\n"
    host_key_public = "${trimspace(var.host_key_public)}\n"
    packages        = var.packages
    answer_routes   = file("${path.module}/files/answer-routes")
    unit            = file("${path.module}/files/answer-routes.service")
  })

  # The order is that of the network cards: the public one is the first.
  network {
    name           = var.public_network
    access_network = true
  }
  network {
    port = openstack_networking_port_v2.private.id
  }

  lifecycle {
    # OVH gives a new build of an image the old name, every few weeks. The provider
    # would rebuild the host from it, in place: the disk lost, and the plan would
    # show an update.
    ignore_changes = [image_id]

    # A key that is replaced keeps its name, by which alone the host knows it: without
    # this, the plan would be done and the old key would still open the host.
    replace_triggered_by = [terraform_data.image, openstack_compute_keypair_v2.admin]
  }

  # A host without them would come up with no way in, or out.
  depends_on = [
    openstack_networking_secgroup_rule_v2.in,
    openstack_networking_secgroup_rule_v2.out,
  ]
}
