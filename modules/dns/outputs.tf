output "name" {
  description = "Name of the record"
  value       = cloudflare_dns_record.a.name
}
