package foreign

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Registry is the host of a provider address without one.
const Registry = "registry.opentofu.org"

// known lists providers that only talk to the API they are named after and run no programs. Among
// others it excludes hashicorp/local and hashicorp/http, which run programs and send data anywhere,
// and hashicorp/helm and hashicorp/kubernetes, whose settings can name programs.
var known = []string{
	"bpg/proxmox", "cloudflare/cloudflare", "digitalocean/digitalocean", "e-breuninger/netbox", "gitlabhq/gitlab",
	"hashicorp/aws", "hashicorp/azuread", "hashicorp/azurerm", "hashicorp/cloudinit", "hashicorp/dns", "hashicorp/google",
	"hashicorp/google-beta", "hashicorp/null", "hashicorp/random", "hashicorp/time", "hashicorp/tls", "hashicorp/vault",
	"hashicorp/vsphere", "hetznercloud/hcloud", "integrations/github", "linode/linode", "outscale/outscale", "ovh/ovh",
	"scaleway/scaleway", "terraform-provider-openstack/openstack", "vmware/vsphere",
}

// Address returns a provider's full address: host, namespace and type.
func Address(source string) string {
	source = strings.ToLower(source)
	switch strings.Count(source, "/") {
	case 0:
		return Registry + "/hashicorp/" + source
	case 1:
		return Registry + "/" + source
	}
	return source
}

// required reads which providers the module's local names refer to.
func (m *module) required(b *hcl.Block) error {
	attributes, diagnostics := b.Body.JustAttributes()
	if diagnostics.HasErrors() {
		return unreadable(b.DefRange.Filename, diagnostics)
	}
	for name, attribute := range attributes {
		m.uses = append(m.uses, use{name, attribute.NameRange})
		pairs, diagnostics := hcl.ExprMap(attribute.Expr)
		if diagnostics.HasErrors() {
			continue // only a version, for a HashiCorp provider
		}
		for _, pair := range pairs {
			if key := hcl.ExprAsKeyword(pair.Key); key != "source" {
				if key, _ := text(pair.Key); key != "source" {
					continue
				}
			}
			source, ok := text(pair.Value)
			if !ok {
				m.never(attribute.NameRange, "write the source of the provider as a literal, without variables", "the source of provider %q is not a literal", name)
			}
			m.sources[name] = source
		}
	}
	return nil
}

// judgeProviders records each unknown provider once.
func (m *module) judgeProviders() {
	seen := map[string]bool{}
	slices.SortStableFunc(m.uses, func(a, b use) int {
		return cmp.Or(strings.Compare(a.at.Filename, b.at.Filename), a.at.Start.Line-b.at.Start.Line)
	})
	for _, u := range m.uses {
		source := m.sources[u.name]
		if source == "" {
			source = u.name
		}
		address := Address(source)
		if seen[address] || address == "terraform.io/builtin/terraform" || source == "terraform" {
			continue
		}
		seen[address] = true
		switch short := strings.TrimPrefix(strings.TrimPrefix(address, Registry+"/"), "registry.terraform.io/"); {
		case short == "hashicorp/external":
			m.found(u.at, Program, "external", "provider %s runs programs", address)
		case !slices.Contains(known, short):
			m.found(u.at, Provider, address, "provider %s is not on the list of known providers", address)
		}
	}
}
