package credentials

import (
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// A template is filled with values that nobody has seen before, and keys that
// belong together.
func TestFill(t *testing.T) {
	template := func() map[string]string {
		return map[string]string{"A": "<random>", "B": "<random>", "C": "", "D": "as it is", "KEY": "<ssh-key>", "KEY_PUBLIC": "<ssh-public-key of KEY>"}
	}
	first, second := template(), template()
	for _, values := range []map[string]string{first, second} {
		open, err := fill(values)
		if err != nil || len(open) != 1 || open[0] != "C" || values["D"] != "as it is" {
			t.Fatalf("%q, %v: %q", open, err, values)
		}
		key, err := ssh.ParsePrivateKey([]byte(values["KEY"]))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey()))); got != values["KEY_PUBLIC"] {
			t.Errorf("the public key is %q, want %q", values["KEY_PUBLIC"], got)
		}
		if len(values["A"]) < 40 || values["A"] == values["B"] {
			t.Errorf("got %q and %q", values["A"], values["B"])
		}
	}
	for name := range first {
		if first[name] == second[name] && name != "C" && name != "D" {
			t.Errorf("%s is the same again", name)
		}
	}
	if _, err := fill(map[string]string{"KEY": "x", "PUBLIC": "<ssh-public-key of KEY>"}); err == nil || !strings.Contains(err.Error(), "is not <ssh-key>") {
		t.Errorf("the public key of a text: %v", err)
	}
}
