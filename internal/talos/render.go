// Package talos writes the configurations of Talos machines.
package talos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	document "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/k8s"
	"github.com/siderolabs/talos/pkg/machinery/config/types/network"

	"slipway/internal/cluster"
)

// Plain is the installer without extensions: factory.talos.dev names an image after the SHA-256 of its
// schematic, here of "customization: {}\n".
const Plain = "factory.talos.dev/metal-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"

// Contract returns what a version of Talos such as v1.14.1 understands.
func Contract(version string) (*config.VersionContract, error) {
	return config.ParseContractFromVersion(version)
}

// Render returns the configuration of a node: what the machinery of Talos generates for this version,
// the node's name and address, and then the patches in their order.
func Render(c *cluster.Cluster, n cluster.Node, bundle *secrets.Bundle, patches ...[]byte) (config.Provider, error) {
	contract, err := Contract(c.Talos)
	if err != nil {
		return nil, err
	}
	installer := c.Installer
	if installer == "" {
		installer = Plain
	}
	options := []generate.Option{
		generate.WithVersionContract(contract), generate.WithSecretsBundle(bundle),
		generate.WithInstallDisk(n.Disk), generate.WithInstallImage(installer + ":" + c.Talos),
	}
	if c.VIP != nil {
		options = append(options, generate.WithAdditionalSubjectAltNames([]string{c.VIP.Address}))
	}
	for _, r := range c.Registries {
		options = append(options, generate.WithRegistryMirror(r.Host, r.Mirrors...))
	}
	input, err := generate.NewInput(c.Name, c.Endpoint, strings.TrimPrefix(c.Kubernetes, "v"), options...)
	if err != nil {
		return nil, err
	}
	input.PodNet, input.ServiceNet = c.Pods, c.Services
	kind := machine.TypeWorker
	if n.Role == cluster.ControlPlane {
		kind = machine.TypeControlPlane
	}
	generated, err := input.Config(kind)
	if err != nil {
		return nil, err
	}
	if n.Role == cluster.ControlPlane {
		keepKey(generated, bundle)
	}
	named, err := named(generated, c, n)
	if err != nil {
		return nil, err
	}
	var all []configpatcher.Patch
	for i, text := range patches {
		patch, err := configpatcher.LoadPatch(text)
		if err != nil {
			return nil, fmt.Errorf("patch %d of %s: %w", i+1, n.Name, err)
		}
		all = append(all, patch)
	}
	patched, err := configpatcher.Apply(configpatcher.WithConfig(named), all)
	if err != nil {
		return nil, err
	}
	return patched.Config()
}

// keepKey gives a cluster that is older than Talos 1.3 the key with which Kubernetes encrypts its secrets in etcd. In
// config/generate of the machinery, init.go leaves it out up to 1.13, and kubernetes.go of 1.14 uses it for another
// cipher, so an API server could no longer read them. The documents are changed in place.
func keepKey(generated config.Provider, bundle *secrets.Bundle) {
	key := bundle.Secrets.AESCBCEncryptionSecret
	if key == "" {
		return
	}
	for _, d := range generated.Documents() {
		if encryption, ok := d.(*k8s.KubeEtcdEncryptionConfigV1Alpha1); ok {
			// As Talos itself has it for configurations up to 1.13, in k8stemplates/apiserver.go.
			encryption.Config.Object = map[string]any{"resources": []any{map[string]any{
				"resources": []any{"secrets"},
				"providers": []any{
					map[string]any{"aescbc": map[string]any{"keys": []any{map[string]any{"name": "key1", "secret": key}}}},
					map[string]any{"identity": map[string]any{}},
				},
			}}}
			return
		}
	}
	generated.RawV1Alpha1().ClusterConfig.ClusterAESCBCEncryptionSecret = key //nolint:staticcheck // up to 1.13
}

// Metal is a machine that Talos is installed on, which decides what a configuration has to contain.
type Metal struct{}

func (Metal) String() string        { return "metal" }
func (Metal) RequiresInstall() bool { return true }
func (Metal) InContainer() bool     { return false }

// named adds the node's own documents. Its name replaces the one that Talos makes up.
func named(generated config.Provider, c *cluster.Cluster, n cluster.Node) (config.Provider, error) {
	documents := slices.DeleteFunc(generated.Documents(), func(d document.Document) bool { return d.Kind() == network.HostnameKind })
	hostname := network.NewHostnameConfigV1Alpha1()
	hostname.ConfigHostname = n.Name
	documents = append(documents, hostname)
	if c.VIP != nil && n.Role == cluster.ControlPlane {
		vip := network.NewLayer2VIPConfigV1Alpha1(c.VIP.Address)
		vip.LinkName = c.VIP.Link
		documents = append(documents, vip)
	}
	return container.New(documents...)
}
