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

// Variables is the whole environment of tofu in a root: nothing is inherited but
// the way to the programs.
func (r *Layer) Variables() ([]string, error) {
	encryption, err := r.Encryption()
	if err != nil {
		return nil, err
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + r.Path("home"),
		"TMPDIR=" + r.Path("tmp"),
		"TF_DATA_DIR=" + r.Path("data", r.FileName()),
		// No file of the user's: what a run does follows from the repository.
		"TF_CLI_CONFIG_FILE=/dev/null",
		"TF_IN_AUTOMATION=1",
		"TF_INPUT=0",
		"CHECKPOINT_DISABLE=1",
		"TF_ENCRYPTION=" + encryption,
	}
	for _, name := range slices.Sorted(maps.Keys(r.Credentials)) {
		if slices.ContainsFunc(tofuVariables, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			env = append(env, name+"="+r.Credentials[name])
		}
	}
	if r.Store != nil {
		env = append(env, r.Bucket().Environment()...)
	}
	return env, nil
}

// unused names the credentials that no tool is given.
func (s *Run) unused() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Credentials)) {
		given := name == state.Passphrase || name == state.PreviousPassphrase ||
			slices.ContainsFunc(tofuVariables, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if !given {
			names = append(names, name)
		}
	}
	return names
}
