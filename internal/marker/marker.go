// Package marker creates and reads the object beside an environment's states that says whose they
// are.
package marker

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"

	"golang.org/x/crypto/argon2"
)

// A Marker says whose states a store contains, and proves the passphrase that encrypts them.
//
// Whoever can read the bucket could use the proof to guess passphrases. In version 2, each guess
// costs as much as argon2id with 19 MiB and 2 passes, which OWASP recommends, and because of the
// salt it only counts for one marker. Version 1 had neither. It can still be read, and bootstrap
// replaces it.
type Marker struct {
	Version     int    `json:"version"` // 1 or 2
	Environment string `json:"environment"`
	Salt        string `json:"salt,omitempty"` // 16 random bytes in base64
	Proof       string `json:"proof"`          // HMAC-SHA256, in hexadecimal digits
}

var errMarker = errors.New("not a marker of a supported version")

const saltBytes = 16

// Read takes no key derivation parameters from the marker: whoever can write it could make them
// huge.
func Read(data []byte) (m Marker, err error) {
	if json.Unmarshal(data, &m) != nil {
		return Marker{}, errMarker
	}
	salt, err := base64.StdEncoding.DecodeString(m.Salt)
	switch {
	case m.Version == 1 && m.Salt == "":
	case m.Version == 2 && err == nil && len(salt) == saltBytes:
	default:
		return Marker{}, errMarker
	}
	return m, nil
}

// New returns the marker of an environment. It fails if there is no passphrase.
func New(environment, passphrase string) (Marker, error) {
	if passphrase == "" {
		return Marker{}, errors.New("a marker needs a passphrase")
	}
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return Marker{}, err
	}
	m := Marker{Version: 2, Environment: environment, Salt: base64.StdEncoding.EncodeToString(salt)}
	m.Proof = m.proof(passphrase)
	return m, nil
}

// ProvedBy reports whether the marker was created with the passphrase. An empty passphrase proves
// nothing.
func (m Marker) ProvedBy(passphrase string) bool {
	return passphrase != "" && hmac.Equal([]byte(m.proof(passphrase)), []byte(m.Proof))
}

func (m Marker) proof(passphrase string) string {
	key := []byte(passphrase)
	if m.Version == 2 {
		salt, _ := base64.StdEncoding.DecodeString(m.Salt) // Read has validated it
		key = argon2.IDKey(key, salt, 2, 19<<10, 1, 32)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("slipway environment " + m.Environment))
	return hex.EncodeToString(mac.Sum(nil))
}
