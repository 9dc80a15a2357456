package layer

import (
	"maps"
	"os"
	"slices"
	"strings"

	"slipway/internal/secrets"
	"slipway/internal/state"
)

// tofuVariables are the prefixes of the names that OpenTofu and its providers read. Only these
// credentials are passed to tofu: a password for Ansible, for example, is not in the environment of
// every provider.
var tofuVariables = []string{
	"TF_VAR_", "TF_TOKEN_", "TF_HTTP_USERNAME", "TF_HTTP_PASSWORD",
	"ARM_", "AWS_", "AZURE_", "CLOUDFLARE_", "DIGITALOCEAN_", "GITHUB_", "GITLAB_", "GOOGLE_",
	"HCLOUD_", "HETZNER_", "KUBE_", "LINODE_", "NETBOX_", "OS_", "OSC_", "OUTSCALE_", "OVH_", "PG", "PM_",
	"PROXMOX_VE_", "SCALEWAY_", "SCW_", "VAULT_", "VSPHERE_",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

func forTofu(variable string) bool {
	return slices.ContainsFunc(tofuVariables, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
}

// Variables returns tofu's complete environment. Only PATH is inherited.
func (l *Layer) Variables() ([]string, error) {
	encryption, err := l.Encryption()
	if err != nil {
		return nil, err
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + l.Path("home"),
		"TMPDIR=" + l.Path("tmp"),
		"TF_DATA_DIR=" + l.Path("data", l.FileName()),
		// Ignore the user's own file: what a run does must follow from the repository.
		"TF_CLI_CONFIG_FILE=/dev/null",
		"TF_IN_AUTOMATION=1",
		"TF_INPUT=0",
		"CHECKPOINT_DISABLE=1",
		"TF_ENCRYPTION=" + encryption,
	}
	for _, name := range slices.Sorted(maps.Keys(l.Credentials)) {
		if forTofu(name) {
			env = append(env, name+"="+l.Credentials[name])
		}
	}
	if l.Store != nil {
		env = append(env, l.Bucket().Environment()...)
	}
	return env, nil
}

// forOthers begins the names of credentials that Slipway itself or Ansible uses.
var forOthers = []string{state.Passphrase, state.PreviousPassphrase, secrets.OperatorKey, secrets.PlaybookPrefix}

// unused returns the names of the credentials that no tool gets.
func unused(credentials map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		other := slices.ContainsFunc(forOthers, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if !other && !forTofu(name) {
			names = append(names, name)
		}
	}
	return names
}
