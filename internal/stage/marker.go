package stage

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

// A marker is an object beside the states of an environment. It says whose they
// are, and holds a proof of the passphrase that seals them.
//
// Who reads the bucket could try passphrases by the proof. In version 2 each try
// costs as much as argon2id does with 19 MiB in 2 passes, as OWASP has it, and helps with one marker only. Version 1
// had neither: it is still read, and bootstrap makes it version 2.
type marker struct {
	Version     int    `json:"version"` // 1 or 2
	Environment string `json:"environment"`
	Salt        string `json:"salt,omitempty"` // 16 random bytes in base64
	Proof       string `json:"proof"`          // HMAC-SHA256, in hexadecimal digits
}

var errMarker = errors.New("it is not the marker of a known version")

const saltBytes = 16

// readMarker takes no parameters of the derivation from the marker: who can write it
// could make them huge.
func readMarker(data []byte) (m marker, err error) {
	if json.Unmarshal(data, &m) != nil {
		return marker{}, errMarker
	}
	salt, err := base64.StdEncoding.DecodeString(m.Salt)
	switch {
	case m.Version == 1 && m.Salt == "":
	case m.Version == 2 && err == nil && len(salt) == saltBytes:
	default:
		return marker{}, errMarker
	}
	return m, nil
}

// newMarker makes one of the passphrase.
func newMarker(environment, passphrase string) (marker, error) {
	if passphrase == "" {
		return marker{}, errors.New("a marker cannot be made without a passphrase")
	}
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return marker{}, err
	}
	m := marker{Version: 2, Environment: environment, Salt: base64.StdEncoding.EncodeToString(salt)}
	m.Proof = m.proof(passphrase)
	return m, nil
}

// provedBy says that the marker was made with the passphrase. None proves nothing.
func (m marker) provedBy(passphrase string) bool {
	return passphrase != "" && hmac.Equal([]byte(m.proof(passphrase)), []byte(m.Proof))
}

func (m marker) proof(passphrase string) string {
	key := []byte(passphrase)
	if m.Version == 2 {
		salt, _ := base64.StdEncoding.DecodeString(m.Salt) // readMarker has seen that it is
		key = argon2.IDKey(key, salt, 2, 19<<10, 1, 32)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("slipway environment " + m.Environment))
	return hex.EncodeToString(mac.Sum(nil))
}
