package stage

import (
	"maps"
	"os"
	"slices"
	"strings"

	"slipway/internal/state"
)

// tofuVariables are the beginnings of the names that OpenTofu and its providers
// read. It is given these of the credentials and no other: a password that only
// Ansible needs is not in the environment of every provider.
var tofuVariables = []string{
	"TF_VAR_", "TF_TOKEN_", "TF_HTTP_USERNAME", "TF_HTTP_PASSWORD",
	"ARM_", "AWS_", "AZURE_", "CLOUDFLARE_", "DIGITALOCEAN_", "GITHUB_", "GITLAB_", "GOOGLE_",
	"HCLOUD_", "HETZNER_", "KUBE_", "LINODE_", "NETBOX_", "OS_", "OSC_", "OUTSCALE_", "OVH_", "PG", "PM_",
	"PROXMOX_VE_", "SCALEWAY_", "SCW_", "VAULT_", "VSPHERE_",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// variables is the whole environment of tofu in a root: nothing is inherited but
// the way to the programs.
func (r *root) variables() ([]string, error) {
	encryption, err := r.encryption()
	if err != nil {
		return nil, err
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + r.path("home"),
		"TMPDIR=" + r.path("tmp"),
		"TF_DATA_DIR=" + r.path("data", r.fileName()),
		// No file of the user's: what a run does follows from the repository.
		"TF_CLI_CONFIG_FILE=/dev/null",
		"TF_IN_AUTOMATION=1",
		"TF_INPUT=0",
		"CHECKPOINT_DISABLE=1",
		"TF_ENCRYPTION=" + encryption,
	}
	for _, name := range slices.Sorted(maps.Keys(r.credentials)) {
		if slices.ContainsFunc(tofuVariables, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			env = append(env, name+"="+r.credentials[name])
		}
	}
	if r.store != nil {
		env = append(env, r.bucket().Environment()...)
	}
	return env, nil
}

// unused names the credentials that no tool is given.
func (s *session) unused() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.credentials)) {
		given := name == state.Passphrase || name == state.PreviousPassphrase ||
			slices.ContainsFunc(tofuVariables, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if !given {
			names = append(names, name)
		}
	}
	return names
}
