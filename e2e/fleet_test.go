//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/cmd/sops/common"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/stores/yaml"
	"github.com/getsops/sops/v3/version"
)

// A fleet is what Flux reconciles in environment cluster-local, in a folder of the test's own.
type fleet struct {
	dir string
	tag string // of its artifact
	key *age.X25519Recipient
}

// newFleet makes one of examples/fleet. The environment of the checkout names it.
func (c *checkout) newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{dir: t.TempDir(), tag: "test", key: c.flux.Recipient()}
	if err := os.CopyFS(f.dir, os.DirFS(filepath.Join(repository, "examples/fleet"))); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join("environments/cluster-local/flux.yaml")
	text, err := os.ReadFile(filepath.Join(repository, settings))
	if err != nil {
		t.Fatal(err)
	}
	c.file(t, filepath.Join(c.dir, settings), strings.Replace(string(text), "tag: latest", "tag: "+f.tag, 1))
	push(t, filepath.Join(f.dir, "charts/hello"), "charts/hello:0.1.0")
	f.push(t)
	return f
}

// push publishes the fleet as it is now.
func (f *fleet) push(t *testing.T) {
	t.Helper()
	push(t, f.dir, "fleet:"+f.tag)
}

func push(t *testing.T, dir, reference string) {
	t.Helper()
	run(t, filepath.Join(repository, ".slipway/engine"), "push", dir, reference).must(t)
}

// write writes a file of the cluster.
func (f *fleet) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, "clusters/cluster-local", name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// seal encrypts an object as `sops encrypt --encrypted-regex '^(data|stringData)$'` does: only its values.
func (f *fleet) seal(t *testing.T, object string) string {
	t.Helper()
	master, err := sopsage.MasterKeyFromRecipient(f.key.String())
	if err != nil {
		t.Fatal(err)
	}
	store := yaml.NewStore(&config.YAMLStoreConfig{})
	branches, err := store.LoadPlainFile([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	tree := sops.Tree{Branches: branches, Metadata: sops.Metadata{
		KeyGroups: []sops.KeyGroup{{master}}, Version: version.Version, EncryptedRegex: "^(data|stringData)$",
	}}
	key, errs := tree.GenerateDataKey()
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if err := common.EncryptTree(common.EncryptTreeOpts{Tree: &tree, Cipher: aes.NewCipher(), DataKey: key}); err != nil {
		t.Fatal(err)
	}
	sealed, err := store.EmitEncryptedFile(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(sealed)
}
