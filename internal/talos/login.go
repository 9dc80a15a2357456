package talos

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"time"

	talosx509 "github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"go.yaml.in/yaml/v3"

	"slipway/internal/cluster"
)

// A Login is a file with which an administrator logs in to a cluster. It is as secret as its key.
type Login struct {
	File  []byte    // YAML
	Key   string    // the private key in the file, in PEM
	Until time.Time // end of its certificate
}

// skew is how far the clock of a machine may be behind ours. Talos allows as much.
const skew = 10 * time.Second

// Kubeconfig makes an administrator's kubeconfig like that of `talosctl kubeconfig`. Its certificate is valid
// for the lifetime, from now by the bundle's clock, and cannot be revoked. proxy is the URL of an HTTP proxy on the
// way to the API server; empty: none. Errors never quote the secrets.
func Kubeconfig(spec *cluster.Cluster, bundle *secrets.Bundle, lifetime time.Duration, proxy string) (Login, error) {
	now := bundle.Clock.Now()
	until := now.Add(lifetime)
	authority, err := talosx509.NewCertificateAuthorityFromCertificateAndKey(bundle.Certs.K8s)
	if err != nil {
		return Login{}, errors.New("certs.k8s in the secrets of the machines is not an authority")
	}
	own, err := talosx509.NewKeyPair(authority,
		talosx509.CommonName(constants.KubernetesAdminCertCommonName),
		talosx509.Organization(constants.KubernetesAdminCertOrganization),
		talosx509.NotBefore(now.Add(-skew)),
		talosx509.NotAfter(until),
		talosx509.KeyUsage(x509.KeyUsageDigitalSignature|x509.KeyUsageKeyEncipherment),
		talosx509.ExtKeyUsage([]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}))
	if err != nil {
		return Login{}, errors.New("certs.k8s in the secrets of the machines cannot sign a certificate")
	}
	type object = map[string]any
	user, encode := "admin@"+spec.Name, base64.StdEncoding.EncodeToString
	server := object{"server": spec.Endpoint, "certificate-authority-data": encode(bundle.Certs.K8s.Crt)}
	if proxy != "" {
		server["proxy-url"] = proxy
	}
	file, err := yaml.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": user,
		"clusters": []object{{"name": spec.Name, "cluster": server}},
		"users":    []object{{"name": user, "user": object{"client-certificate-data": encode(own.CrtPEM), "client-key-data": encode(own.KeyPEM)}}},
		"contexts": []object{{"name": user, "context": object{"cluster": spec.Name, "user": user, "namespace": "default"}}},
	})
	return Login{file, string(own.KeyPEM), until}, err
}

// Talosconfig makes an administrator's talosconfig like that of `talosctl gen config`, with the control planes as
// its endpoints. It has no nodes: with them, `talosctl reboot` would restart all. Its certificate is valid as
// that of Kubeconfig. proxy is the URL of an HTTP proxy on the way to the nodes, which talosctl before 1.14 ignores;
// empty: none.
func Talosconfig(spec *cluster.Cluster, bundle *secrets.Bundle, lifetime time.Duration, proxy string) (Login, error) {
	now := bundle.Clock.Now()
	own, err := secrets.NewAdminCertificateAndKey(now.Add(-skew), bundle.Certs.OS, role.MakeSet(role.Admin), skew+lifetime)
	if err != nil {
		return Login{}, errors.New("certs.os in the secrets of the machines cannot sign a certificate")
	}
	var endpoints []string
	for _, n := range spec.Of(cluster.ControlPlane) {
		endpoints = append(endpoints, n.Address)
	}
	made := config.NewConfig(spec.Name, endpoints, bundle.Certs.OS.Crt, own)
	made.Contexts[made.Context].ProxyURL = proxy
	file, err := made.Bytes()
	return Login{file, string(own.Key), now.Add(lifetime)}, err
}
