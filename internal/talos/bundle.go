package talos

import (
	"bytes"
	"errors"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"go.yaml.in/yaml/v3"
)

// NewSecrets makes the secrets of a new cluster's machines, as `talosctl gen secrets` does.
func NewSecrets(contract *config.VersionContract) (*secrets.Bundle, error) {
	return secrets.NewBundle(secrets.NewClock(), contract)
}

// ReadSecrets reads the secrets of a cluster's machines in the form of `talosctl gen secrets`. Its errors
// never quote the text.
func ReadSecrets(text []byte, contract *config.VersionContract) (*secrets.Bundle, error) {
	bundle := &secrets.Bundle{Clock: secrets.NewClock()}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(bundle); err != nil {
		return nil, errors.New("it is not a file of `talosctl gen secrets`")
	}
	if err := bundle.Validate(contract); err != nil {
		if all, ok := err.(interface{ WrappedErrors() []error }); ok {
			return nil, all.WrappedErrors()[0]
		}
		return nil, err
	}
	return bundle, nil
}

// WriteSecrets returns the text that ReadSecrets reads.
func WriteSecrets(bundle *secrets.Bundle) ([]byte, error) {
	text, err := yaml.Marshal(bundle)
	if err != nil {
		return nil, errors.New("the secrets cannot be written")
	}
	return text, nil
}

// SecretsOf returns what must not be seen of a bundle.
func SecretsOf(b *secrets.Bundle) []string {
	return []string{
		b.Cluster.Secret, b.Secrets.BootstrapToken, b.Secrets.AESCBCEncryptionSecret, b.Secrets.SecretboxEncryptionSecret, b.TrustdInfo.Token,
		string(b.Certs.Etcd.Key), string(b.Certs.K8s.Key), string(b.Certs.K8sAggregator.Key), string(b.Certs.K8sServiceAccount.Key), string(b.Certs.OS.Key),
	}
}
