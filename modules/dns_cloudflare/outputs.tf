output "name" {
  description = "Name that stands for the addresses. Example: test.example.org"
  value       = var.name

  # Who uses it wants it to be there.
  depends_on = [cloudflare_dns_record.address]
}
