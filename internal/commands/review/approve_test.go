package review

import (
	"crypto/ed25519"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"slipway/internal/must"
	"slipway/internal/sealedplan"
	"slipway/internal/testkit"
)

// A signature is taken as it is, or made with a key that is then masked.
func TestSignatureOf(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	must.Do(t, err)
	sealed, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("passphrase"))
	must.Do(t, err)
	text := string(pem.EncodeToMemory(block))
	folder := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	none := filepath.Join(folder, "none")
	plan := sealedplan.Source{Digest: "sha256:" + strings.Repeat("1", 64)}
	d := testkit.New(t)

	given, err := signatureOf(d.Run, approveOptions{plan: plan, signature: file("signature", "as it is"), signingKey: none})
	if err != nil || string(given) != "as it is" {
		t.Errorf("got %q, %v", given, err)
	}
	signature, err := signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: file("key", text)})
	if err != nil || !strings.Contains(string(signature), "BEGIN SSH SIGNATURE") {
		t.Errorf("got %q, %v", signature, err)
	}
	line := strings.Split(text, "\n")[1]
	if got := d.Mask.String("the key: " + line); strings.Contains(got, line) {
		t.Errorf("the key is shown: %s", got)
	}
	_, err = signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: none})
	must.Refuse(t, err, "neither a key nor a signature was given", "dagger call approve --env=test")
	_, err = signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: file("wrong", "x")})
	must.Refuse(t, err, "the given key cannot be used", "dagger call approve --env=test")
	_, err = signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: file("sealed", string(pem.EncodeToMemory(sealed)))})
	must.Refuse(t, err, "passphrase", "ssh-keygen -Y sign")
	if _, err = signatureOf(d.Run, approveOptions{plan: plan, signature: folder}); err == nil {
		t.Error("a folder is a signature")
	}
	if _, err = signatureOf(d.Run, approveOptions{plan: plan, signature: none, signingKey: folder}); err == nil {
		t.Error("a folder is a key")
	}
}
