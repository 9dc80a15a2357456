package stage

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

	"slipway/internal/secrets"
)

// withCode gives a desk a repository whose environment test has its state in the desk's
// store, so that whole stages run up to the first tool.
func (d *desk) withCode(more string) {
	d.t.Helper()
	url := "http://" + strings.TrimPrefix(d.Store.Name(), "bucket state at ")
	d.withCodeOf(fmt.Sprintf("state:\n  s3: {bucket: state, region: us-east-1, endpoint: %q}\n", url) + more)
	must(d.t, d.Store.Write(d.t.Context(), "test/environment.json", []byte(`{"version":1,"environment":"test","proof":"`+fastProof("test", deskPassphrase)+`"}`)))
}

// withCodeOf does the same with any environment.yaml, less the credentials that it names.
func (d *desk) withCodeOf(environment string) {
	d.t.Helper()
	d.Repository = d.t.TempDir()
	key, err := age.GenerateX25519Identity()
	must(d.t, err)
	sealed, err := secrets.Seal("credentials/test.enc.env", map[string]string{
		"AWS_ACCESS_KEY_ID": "access-key", "AWS_SECRET_ACCESS_KEY": "secret-key", "STATE_PASSPHRASE": deskPassphrase,
	}, []string{key.Recipient().String()})
	must(d.t, err)
	d.IdentityFile = filepath.Join(d.t.TempDir(), "keys.txt")
	must(d.t, os.WriteFile(d.IdentityFile, []byte(key.String()+"\n"), 0o600))
	const code = "terraform {\n  backend \"s3\" {}\n}\n"
	for name, text := range map[string]string{
		"credentials/test.enc.env":           string(sealed),
		"environments/test/environment.yaml": "credentials: [test]\n" + environment,
		"environments/test/main.tf":          code, "environments/test/net/main.tf": code, "environments/test/app/main.tf": code,
	} {
		path := filepath.Join(d.Repository, name)
		must(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(d.t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// twoLayers is for an environment with two states.
const twoLayers = "layers:\n  - path: net\n  - path: app\n"

// withoutTofu is for what must not need it, and for what comes before it: none is found.
func withoutTofu(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
}

// nowhere has a desk work in what is no folder.
func (d *desk) nowhere() {
	d.t.Helper()
	d.Work = filepath.Join(d.t.TempDir(), "file")
	must(d.t, os.WriteFile(d.Work, nil, 0o600))
}

// fastProof is the proof of a marker of version 1.
func fastProof(environment, passphrase string) string {
	mac := hmac.New(sha256.New, []byte(passphrase))
	mac.Write([]byte("slipway environment " + environment))
	return hex.EncodeToString(mac.Sum(nil))
}
