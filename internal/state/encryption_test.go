package state

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"slipway/internal/fault"
)

const good, old = "q0Zx1mN8vB5cT7yL2kJ4hG6f", "a-previous-passphrase-of-${x}-%{y}"

func TestEncryption(t *testing.T) {
	text, err := Encryption(good, "")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"key_provider":{"pbkdf2":{"k0e1a787a":{"hash_function":"sha256","iterations":200000,"passphrase":"q0Zx1mN8vB5cT7yL2kJ4hG6f"}}},` +
		`"method":{"aes_gcm":{"k0e1a787a":{"keys":"${key_provider.pbkdf2.k0e1a787a}"}}},` +
		`"plan":{"enforced":true,"method":"method.aes_gcm.k0e1a787a"},"state":{"enforced":true,"method":"method.aes_gcm.k0e1a787a"}}`
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestEncryptionRollover(t *testing.T) {
	text, err := Encryption(good, old)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Provider struct {
			PBKDF2 map[string]struct{ Passphrase string }
		} `json:"key_provider"`
		State, Plan struct {
			Enforced bool
			Fallback struct{ Method string }
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if p := got.Provider.PBKDF2[keyName(old)].Passphrase; p != "a-previous-passphrase-of-$${x}-%%{y}" {
		t.Errorf("the passphrase would be read as a template: %q", p)
	}
	for _, target := range []struct {
		Enforced bool
		Fallback struct{ Method string }
	}{got.State, got.Plan} {
		if !target.Enforced || target.Fallback.Method != "method.aes_gcm."+keyName(old) {
			t.Errorf("got %+v", target)
		}
	}
}

func TestEncryptionRefuses(t *testing.T) {
	for name, c := range map[string]struct{ current, previous, want string }{
		"no passphrase":            {"", "", "the credentials have no STATE_PASSPHRASE"},
		"a short one":              {"hunter2", "", "STATE_PASSPHRASE has 7 characters"},
		"one character":            {strings.Repeat("a", 22), "", "STATE_PASSPHRASE can be guessed: it has an estimated"},
		"one word":                 {"passwordpasswordpassword", "", "STATE_PASSPHRASE can be guessed: it has an estimated 1 bits of entropy and needs 100"},
		"four words":               {"correct horse battery staple", "", "STATE_PASSPHRASE can be guessed: it has an estimated"},
		"a few random ones":        {strings.Repeat("xK9#", 8), "", "STATE_PASSPHRASE can be guessed: it has an estimated"},
		"a sequence":               {"abcdefghijklmnopqrstuvwxyz", "", "STATE_PASSPHRASE can be guessed: it has an estimated"},
		"keys in a row":            {"qwertyuiopasdfghjklzxcvbnm", "", "STATE_PASSPHRASE can be guessed: it has an estimated"},
		"dates":                    {"2024-01-01-2024-01-01-2024", "", "STATE_PASSPHRASE can be guessed: it has an estimated"},
		"words with a number":      {"passphrase-of-the-tests-1234", "", "STATE_PASSPHRASE can be guessed: it has an estimated"},
		"a short one to move from": {good, "hunter2", "STATE_PASSPHRASE_PREVIOUS has 7 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Encryption(c.current, c.previous)
			r, ok := fault.Refusal(err)
			if !ok || !strings.HasPrefix(r.Error(), c.want) || r.Hint == "" || strings.Contains(r.Error(), "hunter2") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What the hint and the templates make passes always, and one can move away from a
// passphrase that is weak.
func TestEncryptionAccepts(t *testing.T) {
	for range 3 {
		random := make([]byte, 32)
		if _, err := rand.Read(random); err != nil {
			t.Fatal(err)
		}
		for _, passphrase := range []string{
			base64.StdEncoding.EncodeToString(random), hex.EncodeToString(random), rand.Text() + rand.Text(),
		} {
			if _, err := Encryption(passphrase, "passwordpasswordpassword"); err != nil {
				t.Errorf("%s: %v", passphrase, err)
			}
			// One that is moved away from has to be just long enough.
			if _, err := Encryption(passphrase, strings.Repeat("a", leastCharacters)); err != nil {
				t.Errorf("%s: %v", passphrase, err)
			}
		}
	}
}
