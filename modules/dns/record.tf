resource "cloudflare_dns_record" "a" {
  zone_id = var.zone_id
  name    = var.name
  type    = "A"
  content = var.ipv4
  ttl     = var.ttl
  comment = "Made by OpenTofu"

  # Not by Cloudflare's proxy: it passes no MQTT, and the host asks for its certificate itself.
  proxied = false
}
