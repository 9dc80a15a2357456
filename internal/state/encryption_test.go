package state

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"slipway/internal/refusal"
)

const good, old = "q0Zx1mN8vB5cT7yL2kJ4hG6f", "a-previous-passphrase-of-${x}-%{y}"

func TestEncryption(t *testing.T) {
	text, err := Encryption(good, "")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"key_provider":{"pbkdf2":{"k0e1a787a":{"iterations":200000,"passphrase":"q0Zx1mN8vB5cT7yL2kJ4hG6f"}}},` +
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
		"a short one to move from": {good, "hunter2", "STATE_PASSPHRASE_PREVIOUS has 7 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Encryption(c.current, c.previous)
			var r *refusal.Error
			if !errors.As(err, &r) || !strings.HasPrefix(r.Message, c.want) || r.Hint == "" || strings.Contains(r.Message, "hunter2") {
				t.Errorf("got %v", err)
			}
		})
	}
}
