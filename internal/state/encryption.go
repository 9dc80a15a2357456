// Package state knows where an environment's state is stored and how it is encrypted.
package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"slipway/internal/fault"
)

// Names of the variables in an environment's credentials that encrypt its state.
const (
	Passphrase         = "STATE_PASSPHRASE"
	PreviousPassphrase = "STATE_PASSPHRASE_PREVIOUS" // only set while states are re-encrypted
)

const (
	// iterations is the minimum that OpenTofu accepts for PBKDF2. More would make each command
	// slower without making a random passphrase safer. SHA-256 takes a third of the time of
	// SHA-512, OpenTofu's default, because processors have instructions for it. A state says how
	// its own key was derived, so states that were encrypted differently can still be read.
	iterations   = 200_000
	hashFunction = "sha256"
	// leastCharacters random base64 digits carry 128 bits. A previous passphrase only has to meet
	// this minimum, not the strength estimate.
	leastCharacters = 22
)

// Encryption builds the value of TF_ENCRYPTION: states and plans are encrypted with the passphrase,
// and unencrypted ones are rejected. Data encrypted with the previous passphrase, if there is one,
// can still be read.
//
// It refuses a passphrase that is too short or too easy to guess to be random.
func Encryption(passphrase, previous string) (string, error) {
	const newOne = "dagger call secrets set --variable=" + Passphrase + " with the output of: openssl rand -base64 32"
	if passphrase == "" {
		return "", fault.Refuse(newOne, "the credentials have no %s, without which the state would not be encrypted", Passphrase)
	}
	if err := refuseWeak(passphrase, newOne); err != nil {
		return "", err
	}
	providers, methods := map[string]any{}, map[string]any{}
	add := func(variable, value string) (method string, err error) {
		if len(value) < leastCharacters {
			return "", fault.Refuse(newOne, "%s has %d characters; it needs at least %d random ones", variable, len(value), leastCharacters)
		}
		name := keyName(value)
		providers[name] = map[string]any{"passphrase": literal(value), "iterations": iterations, "hash_function": hashFunction}
		methods[name] = map[string]any{"keys": "${key_provider.pbkdf2." + name + "}"}
		return "method.aes_gcm." + name, nil
	}
	method, err := add(Passphrase, passphrase)
	if err != nil {
		return "", err
	}
	target := map[string]any{"method": method, "enforced": true}
	if previous != "" {
		if method, err = add(PreviousPassphrase, previous); err != nil {
			return "", err
		}
		target["fallback"] = map[string]any{"method": method}
	}
	data, err := json.Marshal(map[string]any{
		"key_provider": map[string]any{"pbkdf2": providers},
		"method":       map[string]any{"aes_gcm": methods},
		"state":        target,
		"plan":         target,
	})
	return string(data), err
}

func refuseWeak(passphrase, hint string) error {
	if len(passphrase) < leastCharacters {
		return nil // refused for its length
	}
	if bits := bitsOf(passphrase); bits < leastBits {
		return fault.Refuse(hint, "%s can be guessed: it has an estimated %d bits of entropy and needs %d; use random characters", Passphrase, int(bits), leastBits)
	}
	return nil
}

// keyName returns the name of a passphrase's key. OpenTofu stores a key's salt under that name, so
// it must not change when the current passphrase becomes the previous one. Eight digits of a digest
// reveal nothing about a random passphrase.
func keyName(passphrase string) string {
	sum := sha256.Sum256([]byte("slipway state " + passphrase))
	return "k" + hex.EncodeToString(sum[:4])
}

// literal escapes text so that OpenTofu does not read a template in it.
func literal(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
}
