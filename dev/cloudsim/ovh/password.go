package ovh

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// verifier returns what PostgreSQL stores of a password: with it a server can check the password,
// and nobody can log in.
//
// https://www.rfc-editor.org/rfc/rfc5802#section-3 and, for the format,
// https://www.postgresql.org/docs/17/catalog-pg-authid.html
func verifier(password string) (string, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // it never fails
	return verifierWith(password, salt)
}

func verifierWith(password string, salt []byte) (string, error) {
	const rounds = 4096
	salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	if err != nil {
		return "", err
	}
	sign := func(text string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(sign("Client Key"))
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", rounds, text(salt), text(stored[:]), text(sign("Server Key"))), nil
}
