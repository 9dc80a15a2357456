resource "ovh_domain_zone_record" "address" {
  for_each = var.addresses

  zone      = var.zone
  subdomain = var.name == var.zone ? "" : trimsuffix(var.name, ".${var.zone}")
  fieldtype = each.key
  target    = each.value
  ttl       = var.ttl
}
