// Package state knows where an environment's state lies and how it is sealed.
package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"slipway/internal/refusal"
)

// Names of the variables in an environment's credentials that seal its state.
const (
	Passphrase         = "STATE_PASSPHRASE"
	PreviousPassphrase = "STATE_PASSPHRASE_PREVIOUS" // set while states are moved from one to the other
)

const (
	// The key is derived by the least that OpenTofu takes. More would make each command slower
	// and a random passphrase no safer. Processors have instructions for SHA-256: it takes a
	// third of the time of SHA-512, OpenTofu's default. A state says how its own key was derived,
	// so what was encrypted otherwise can still be read.
	iterations   = 200_000
	hashFunction = "sha256"
	// leastCharacters hold 128 bits when they are random base64 digits. A passphrase
	// that is moved away from need not have more than them.
	leastCharacters = 22
)

// Encryption builds the value of TF_ENCRYPTION: state and plans are sealed with
// the passphrase, and nothing that is not sealed is accepted. What the previous
// passphrase sealed, if there is one, can still be read.
//
// It refuses a passphrase that is too short, or too easy to guess, to be random.
func Encryption(passphrase, previous string) (string, error) {
	const newOne = "dagger call secrets set --variable=" + Passphrase + " with the output of: openssl rand -base64 32"
	if passphrase == "" {
		return "", refusal.New(newOne, "the credentials have no %s, without which the state would not be encrypted", Passphrase)
	}
	if err := refuseWeak(passphrase, newOne); err != nil {
		return "", err
	}
	providers, methods := map[string]any{}, map[string]any{}
	add := func(variable, value string) (method string, err error) {
		if len(value) < leastCharacters {
			return "", refusal.New(newOne, "%s has %d characters, and needs at least %d random ones", variable, len(value), leastCharacters)
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
		return nil // refused by its length
	}
	if bits := bitsOf(passphrase); bits < leastBits {
		return refusal.New(hint, "%s can be guessed: it is worth %d bits, and needs %d, as random characters have", Passphrase, int(bits), leastBits)
	}
	return nil
}

// keyName names a passphrase's key. OpenTofu looks for the salt of a key under its
// name, so it must not change when the current passphrase becomes the previous
// one. Eight digits of a digest tell nothing of a random passphrase.
func keyName(passphrase string) string {
	sum := sha256.Sum256([]byte("slipway state " + passphrase))
	return "k" + hex.EncodeToString(sum[:4])
}

// literal keeps OpenTofu from reading a template in text.
func literal(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
}
