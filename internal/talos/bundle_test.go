package talos

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"

	"slipway/internal/must"
)

// The file of `talosctl gen secrets` is read as it is.
func TestReadSecrets(t *testing.T) {
	b := bundle(t, "v1.14.1")
	text, err := WriteSecrets(b)
	must.Do(t, err)
	for _, key := range []string{"cluster:\n    id: ", "trustdinfo:\n    token: ", "    bootstraptoken: ", "    k8saggregator:\n        crt: LS0t", "    k8sserviceaccount:\n        key: LS0t"} {
		if !strings.Contains(string(text), key) {
			t.Errorf("there is no %q", key)
		}
	}
	contract, err := Contract("v1.14.1")
	must.Do(t, err)
	again, err := ReadSecrets(text, contract)
	must.Do(t, err)
	if diff := cmp.Diff(SecretsOf(b), SecretsOf(again)); diff != "" || again.Cluster.ID != b.Cluster.ID {
		t.Errorf("%s", diff)
	}
}

// A file that lacks something, or is another one, is refused without a word of it.
func TestReadSecretsRefuses(t *testing.T) {
	contract, err := Contract("v1.14.1")
	must.Do(t, err)
	write := func(change func(*secrets.Bundle)) string {
		b := bundle(t, "v1.14.1")
		change(b)
		text, err := WriteSecrets(b)
		must.Do(t, err)
		return string(text)
	}
	for name, c := range map[string]struct{ text, message string }{
		"empty":           {"", "it is not a file of `talosctl gen secrets`"},
		"another file":    {"canary: canary\n", "it is not a file of `talosctl gen secrets`"},
		"no YAML":         {"canary: [", "it is not a file of `talosctl gen secrets`"},
		"no token":        {write(func(b *secrets.Bundle) { b.TrustdInfo.Token = "" }), "trustdinfo.token is required"},
		"two things less": {write(func(b *secrets.Bundle) { b.TrustdInfo.Token, b.Cluster.Secret = "", "" }), "cluster.secret is required"},
		"no certificate":  {write(func(b *secrets.Bundle) { b.Certs.OS = nil }), "certs.os is required"},
		"a broken key":    {write(func(b *secrets.Bundle) { b.Certs.Etcd.Key = []byte("canary") }), "certs.etcd is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadSecrets([]byte(c.text), contract)
			must.Fail(t, err, c.message)
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\n") {
				t.Errorf("it quotes the file, or has more than one line: %v", err)
			}
		})
	}
}

// Each value of a bundle is masked, but the cluster's ID and certificates.
func TestSecretsOf(t *testing.T) {
	b := bundle(t, "v1.14.1")
	text, err := WriteSecrets(b)
	must.Do(t, err)
	values, err := parse(text)
	must.Do(t, err)
	masked := SecretsOf(b)
	for _, v := range values {
		key, err := base64.StdEncoding.DecodeString(v.raw)
		known := slices.Contains(masked, v.raw) || err == nil && slices.Contains(masked, string(key))
		if public := v.String() == "cluster.id" || strings.HasSuffix(v.String(), ".crt"); known == public {
			t.Errorf("%s: masked: %v", v.String(), known)
		}
	}
	if len(values) < 14 {
		t.Errorf("%d values", len(values))
	}
}
