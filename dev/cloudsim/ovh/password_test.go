package ovh

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
)

// The example of https://www.rfc-editor.org/rfc/rfc7677#section-3: the server's key signs what the
// server there answers with.
func TestVerifier(t *testing.T) {
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	got, err := verifierWith("pencil", salt)
	if err != nil {
		t.Fatal(err)
	}
	head, keys, _ := strings.Cut(strings.TrimPrefix(got, "SCRAM-SHA-256$"), "$")
	stored, server, ok := strings.Cut(keys, ":")
	if head != "4096:W22ZaJ0SNY7soEsUEjb6gQ==" || !ok || stored == server {
		t.Fatal(got)
	}
	key, err := base64.StdEncoding.DecodeString(server)
	if err != nil {
		t.Fatal(err)
	}
	const nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("n=user,r=rOprNGfwEbeRWgbNEkqO,r=" + nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=" + nonce))
	if signature := base64.StdEncoding.EncodeToString(mac.Sum(nil)); signature != "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=" {
		t.Errorf("the server signs %s", signature)
	}
	if a, _ := verifier("pencil"); a == got {
		t.Error("the salt is not random")
	}
}
