package testkit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"slipway/internal/must"
	"slipway/internal/secrets"
)

const LostText = `{"serial":8,"lineage":"line","encrypted_data":"lost"}`

const Passphrase = "Vq3-7mBzT9xLw2KdRf8nHs4PcYj6"

// WithCode gives a desk a repository whose environment test has its state in the desk's store, so
// that whole stages run up to the first tool.
func (d *Desk) WithCode(more string) {
	d.T.Helper()
	url := "http://" + strings.TrimPrefix(d.Store.Name(), "bucket state at ")
	d.WithCodeOf(fmt.Sprintf("state:\n  s3: {bucket: state, region: us-east-1, endpoint: %q}\n", url) + more)
	must.Do(d.T, d.Store.Write(d.T.Context(), "test/environment.json", []byte(`{"version":1,"environment":"test","proof":"`+FastProof("test", Passphrase)+`"}`)))
}

// WithCodeOf does the same with any environment.yaml, to which it adds the credentials.
func (d *Desk) WithCodeOf(environment string) {
	d.T.Helper()
	d.Repository = d.T.TempDir()
	key, err := age.GenerateX25519Identity()
	must.Do(d.T, err)
	sealed, err := secrets.Seal("credentials/test.enc.env", map[string]string{
		"AWS_ACCESS_KEY_ID": "access-key", "AWS_SECRET_ACCESS_KEY": "secret-key", "STATE_PASSPHRASE": Passphrase,
	}, []string{key.Recipient().String()})
	must.Do(d.T, err)
	d.IdentityFile = filepath.Join(d.T.TempDir(), "keys.txt")
	must.Do(d.T, os.WriteFile(d.IdentityFile, []byte(key.String()+"\n"), 0o600))
	const code = "terraform {\n  backend \"s3\" {}\n}\n"
	for name, text := range map[string]string{
		"credentials/test.enc.env":           string(sealed),
		"environments/test/environment.yaml": "credentials: [test]\n" + environment,
		"environments/test/main.tf":          code, "environments/test/net/main.tf": code, "environments/test/app/main.tf": code,
	} {
		path := filepath.Join(d.Repository, name)
		must.Do(d.T, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(d.T, os.WriteFile(path, []byte(text), 0o600))
	}
}

// TwoLayers is for an environment with two states.
const TwoLayers = "layers:\n  - path: net\n  - path: app\n"

// WithoutTofu hides tofu, for what must not need it and for what comes before it.
func WithoutTofu(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
}

// Nowhere makes a desk work in a folder that does not exist.
func (d *Desk) Nowhere() {
	d.T.Helper()
	d.Work = filepath.Join(d.T.TempDir(), "file")
	must.Do(d.T, os.WriteFile(d.Work, nil, 0o600))
}

// FastProof returns the proof of a version 1 marker.
func FastProof(environment, passphrase string) string {
	mac := hmac.New(sha256.New, []byte(passphrase))
	mac.Write([]byte("slipway environment " + environment))
	return hex.EncodeToString(mac.Sum(nil))
}
