resource "cloudflare_dns_record" "address" {
  for_each = var.addresses

  zone_id = var.zone_id
  name    = var.name
  type    = each.key
  content = each.value
  ttl     = var.ttl
  comment = "Made by OpenTofu"

  # Not by Cloudflare's proxy: it passes no MQTT, and the host asks for its certificate itself.
  proxied = false
}

# The module dns of earlier versions made one A record.
moved {
  from = cloudflare_dns_record.a
  to   = cloudflare_dns_record.address["A"]
}
