package secrets

// Names of credentials that only an apply and a deploy need.
const (
	// OperatorKey is the private SSH key for the hosts.
	OperatorKey = "SSH_PRIVATE_KEY"
	// PlaybookPrefix begins the names of the secrets that Ansible gets: ANSIBLE_VAR_<name>.
	PlaybookPrefix = "ANSIBLE_VAR_"
)
