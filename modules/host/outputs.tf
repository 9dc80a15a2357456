output "full_name" {
  description = "Name of the host with that of its environment"
  value       = terraform_data.host.output.full_name
}
