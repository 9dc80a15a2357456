package redact

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	stdpem "encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// A private key contains its public half, which is shown: in known_hosts and in authorized_keys.
func TestPublicHalf(t *testing.T) {
	keys := map[string][]crypto.Signer{}
	for i := range 100 { // where the public half falls among the pieces depends on its digits
		keys["ed25519"] = append(keys["ed25519"], ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i)}, ed25519.SeedSize)))
	}
	modulus, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys["rsa"], keys["ecdsa"] = []crypto.Signer{modulus}, []crypto.Signer{curve}
	for name, list := range keys {
		t.Run(name, func(t *testing.T) {
			for i, key := range list {
				public, err := ssh.NewPublicKey(key.Public())
				if err != nil {
					t.Fatal(err)
				}
				line := "203.0.113.7 " + string(ssh.MarshalAuthorizedKey(public))
				for _, passphrase := range []string{"", "passphrase"} {
					if passphrase != "" && i > 0 {
						continue // to derive a key is slow
					}
					private := opensshKey(t, key, passphrase)
					set := New(private)
					if got := set.String(line); got != line {
						t.Errorf("known_hosts has %q", got)
					}
					if got := set.String("before " + private + " after"); got != "before "+Mask+" after" {
						t.Errorf("the private key becomes %q", got)
					}
				}
			}
		})
	}
}

// Any part of the secret half is still masked, also one that reaches into the public half.
func TestSecretHalf(t *testing.T) {
	seed := []byte("thirty-two bytes, and all secret")
	private := opensshKey(t, ed25519.NewKeyFromSeed(seed), "")
	set := New(private)
	lines := strings.Split(private, "\n")
	body := strings.Join(lines[1:len(lines)-1], "")
	secret := ""
	for _, core := range cores64(base64.StdEncoding, string(seed)) {
		if strings.Contains(body, core) {
			secret = core
		}
	}
	begin := strings.Index(body, secret)
	if secret == "" || begin < 0 {
		t.Fatal("the key has no seed")
	}
	for at := begin - 8; at+31 <= begin+len(secret)+8; at++ {
		if got := set.String("> " + body[at:at+31] + " <"); !strings.Contains(got, Mask) {
			t.Errorf("%q becomes %q", body[at:at+31], got)
		}
	}
}

func opensshKey(t *testing.T, key crypto.Signer, passphrase string) string {
	t.Helper()
	marshal := func() (*stdpem.Block, error) { return ssh.MarshalPrivateKey(key, "root@host") }
	if passphrase != "" {
		marshal = func() (*stdpem.Block, error) {
			return ssh.MarshalPrivateKeyWithPassphrase(key, "root@host", []byte(passphrase))
		}
	}
	block, err := marshal()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(stdpem.EncodeToMemory(block)))
}
