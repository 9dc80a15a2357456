package testkit

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/state"
)

const (
	VaultFile   = "credentials/test.enc.env"
	VaultMarker = "/state/test/environment.json"
)

// A Vault is a session that has loaded nothing yet. Its repository has the environment test, with
// encrypted credentials.
type Vault struct {
	*run.Run
	T        *testing.T
	AgeKey   *age.X25519Identity
	Progress *bytes.Buffer
	Endpoint string // endpoint of the store
	Marker   string // marker in the store; empty: none
}

func NewVault(t *testing.T) *Vault {
	t.Helper()
	v := &Vault{T: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != VaultMarker || v.Marker == "":
			w.WriteHeader(http.StatusNotFound)
		case v.Marker == "forbidden":
			w.WriteHeader(http.StatusForbidden)
		default:
			_, _ = w.Write([]byte(v.Marker))
		}
	}))
	t.Cleanup(server.Close)
	v.Endpoint = server.URL
	v.Run, _, v.Progress = Quiet(t, run.Command{Name: "apply", Opens: run.State})
	v.Env, v.Repository, v.Work = "test", t.TempDir(), t.TempDir()
	v.AgeKey = NewAge(t)
	v.IdentityFile = filepath.Join(t.TempDir(), "keys.txt")
	must.Do(t, os.WriteFile(v.IdentityFile, []byte("# created: now\n"+v.AgeKey.String()+"\n"), 0o600))
	v.Describe("credentials: [test]", v.InBucket())
	v.Write("environments/test/main.tf", "")
	v.Seal(VaultFile, VaultVariables())
	return v
}

func NewAge(t *testing.T) *age.X25519Identity {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	must.Do(t, err)
	return key
}

// VaultVariables are the variables that an environment needs.
func VaultVariables() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "access-key-for-tests", "AWS_SECRET_ACCESS_KEY": "secret-key-for-tests", state.Passphrase: Passphrase}
}

func (v *Vault) With(variable, value string) {
	v.T.Helper()
	variables := VaultVariables()
	variables[variable] = value
	v.Seal(VaultFile, variables)
}

func (v *Vault) InBucket() string {
	return fmt.Sprintf("state:\n  s3: {bucket: state, region: us-east-1, endpoint: %q}", v.Endpoint)
}

// Describe writes environment.yaml.
func (v *Vault) Describe(lines ...string) {
	v.T.Helper()
	v.Write("environments/test/environment.yaml", strings.Join(lines, "\n")+"\n")
}

func (v *Vault) Write(name, text string) {
	v.T.Helper()
	path := filepath.Join(v.Repository, name)
	must.Do(v.T, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(v.T, os.WriteFile(path, []byte(text), 0o600))
}

// Seal writes credentials encrypted to the vault's key and to others.
func (v *Vault) Seal(name string, variables map[string]string, others ...*age.X25519Identity) {
	v.T.Helper()
	v.SealTo(name, variables, append(others, v.AgeKey)...)
}

func (v *Vault) SealTo(name string, variables map[string]string, readers ...*age.X25519Identity) {
	v.T.Helper()
	var recipients []string
	for _, reader := range readers {
		recipients = append(recipients, reader.Recipient().String())
	}
	data, err := secrets.Seal(name, variables, recipients)
	must.Do(v.T, err)
	v.Write(name, string(data))
}
