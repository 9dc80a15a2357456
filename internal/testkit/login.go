package testkit

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"slipway/internal/must"
)

// A LoginKey is what the module passes to a command that makes a login: the key of its call, in a file.
type LoginKey struct {
	Text string // 32 bytes in base64
	File string
	key  []byte
}

// NewLoginKey makes one.
func NewLoginKey(t *testing.T) LoginKey {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	k := LoginKey{Text: base64.StdEncoding.EncodeToString(key), File: filepath.Join(t.TempDir(), "login-key"), key: key}
	must.Do(t, os.WriteFile(k.File, []byte(k.Text), 0o600))
	return k
}

// Open returns the login that a command has left in a folder, opened as the module does it.
func (k LoginKey) Open(t *testing.T, folder string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "sealed"))
	must.Do(t, err)
	sealed, err := base64.StdEncoding.DecodeString(string(text))
	must.Do(t, err)
	block, err := aes.NewCipher(k.key)
	must.Do(t, err)
	box, err := cipher.NewGCMWithRandomNonce(block)
	must.Do(t, err)
	opened, err := box.Open(nil, nil, sealed, nil)
	must.Do(t, err)
	return opened
}
