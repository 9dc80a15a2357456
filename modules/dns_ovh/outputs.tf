output "name" {
  description = "Name that stands for the addresses. Example: test.example.org"
  value       = var.name

  # Who uses it wants it to be there.
  depends_on = [ovh_domain_zone_record.address]
}
