// Package approval signs the digest of a plan, as a reviewer, and checks such a signature. The
// format is that of ssh-keygen -Y, so that a key on a hardware token or in an agent can sign, too:
//
//	echo sha256:… | ssh-keygen -Y sign -n slipway-plan -f ~/.ssh/id_ed25519
package approval

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Namespace prevents a signature made for another purpose from counting as an approval.
const Namespace = "slipway-plan"

// A Reviewer may approve plans.
type Reviewer struct {
	Name string
	Key  ssh.PublicKey
}

// ParseReviewer reads a line of authorized_keys: type, key and name.
func ParseReviewer(line string) (Reviewer, error) {
	key, name, options, rest, err := ssh.ParseAuthorizedKey([]byte(line))
	switch {
	case err != nil || len(rest) > 0 || len(options) > 0:
		return Reviewer{}, errors.New("not a public SSH key")
	case name == "":
		return Reviewer{}, errors.New("there is no name after the key")
	}
	return Reviewer{name, key}, nil
}

// ErrPassphrase means that a private key is encrypted.
var ErrPassphrase = errors.New("the key has a passphrase")

// ParseKey reads an unencrypted private key in OpenSSH format.
func ParseKey(data []byte) (ssh.Signer, error) {
	key, err := ssh.ParsePrivateKey(data)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, errors.New("not a private SSH key") // the library may quote it
	}
	return key, nil
}

// message returns what is signed: the digest on a line, as echo writes it.
func message(digest string) *bytes.Reader { return bytes.NewReader([]byte(digest + "\n")) }

// Sign approves the plan with that digest.
func Sign(digest string, key ssh.Signer) ([]byte, error) {
	signature, err := sshsig.Sign(message(digest), key, sshsig.HashSHA512, Namespace)
	if err != nil {
		return nil, fmt.Errorf("sign the digest: %w", err)
	}
	return sshsig.Armor(signature), nil
}

// Check returns the reviewer who signed that digest.
func Check(digest string, signature []byte, reviewers []Reviewer) (Reviewer, error) {
	s, err := sshsig.Unarmor(signature)
	if err != nil {
		return Reviewer{}, errors.New("not an SSH signature")
	}
	for _, r := range reviewers {
		if !bytes.Equal(r.Key.Marshal(), s.PublicKey.Marshal()) {
			continue
		}
		if err := sshsig.Verify(message(digest), s, r.Key, s.HashAlgorithm, Namespace); err != nil {
			return Reviewer{}, fmt.Errorf("the signature by %s is not for %s", r.Name, digest)
		}
		return r, nil
	}
	return Reviewer{}, fmt.Errorf("signed by %s, who is not a reviewer", ssh.FingerprintSHA256(s.PublicKey))
}
