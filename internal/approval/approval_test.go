package approval

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

const digest = "sha256:0123456789012345678901234567890123456789012345678901234567890123"

func reviewer(t *testing.T, name string) (Reviewer, ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseReviewer(strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))) + " " + name)
	if err != nil {
		t.Fatal(err)
	}
	return r, signer
}

func TestCheck(t *testing.T) {
	alice, aliceKey := reviewer(t, "alice")
	bob, bobKey := reviewer(t, "bob")
	sign := func(digest string, key ssh.Signer) []byte {
		signature, err := Sign(digest, key)
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
	elsewhere, err := sshsig.Sign(message(digest), aliceKey, sshsig.HashSHA512, "git")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		signature []byte
		reviewers []Reviewer
		want      string
	}{
		"alice":                 {sign(digest, aliceKey), []Reviewer{alice}, ""},
		"one of two":            {sign(digest, bobKey), []Reviewer{alice, bob}, ""},
		"nobody we know":        {sign(digest, bobKey), []Reviewer{alice}, "is not a reviewer"},
		"no reviewers":          {sign(digest, aliceKey), nil, "is not a reviewer"},
		"another digest":        {sign(strings.Replace(digest, "0", "1", 1), aliceKey), []Reviewer{alice}, "the signature by alice is not for sha256:0123"},
		"made for git":          {sshsig.Armor(elsewhere), []Reviewer{alice}, "the signature by alice is not for"},
		"not even a signature":  {[]byte("x"), []Reviewer{alice}, "not an SSH signature"},
		"nothing":               {nil, []Reviewer{alice}, "not an SSH signature"},
		"a signature and a key": {[]byte(strings.Replace(string(sign(digest, aliceKey)), "U1NIU0lH", "U1NIU0lI", 1)), []Reviewer{alice}, "not an SSH signature"},
	} {
		t.Run(name, func(t *testing.T) {
			by, err := Check(digest, c.signature, c.reviewers)
			switch {
			case c.want == "" && (err != nil || by.Name == ""):
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// ssh-keygen takes our signatures, and we take those of ssh-keygen.
func TestKeygen(t *testing.T) {
	dir := t.TempDir()
	run := func(input string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "ssh-keygen", args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("ssh-keygen %s: %v", args, err)
		}
		return string(out)
	}
	run("", "-q", "-t", "ed25519", "-N", "", "-C", "alice", "-f", "key")
	run("", "-q", "-t", "ed25519", "-N", "locked", "-C", "alice", "-f", "locked")
	line, err := os.ReadFile(filepath.Join(dir, "key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	alice, err := ParseReviewer(string(line))
	if err != nil {
		t.Fatal(err)
	}
	if by, err := Check(digest, []byte(run(digest+"\n", "-Y", "sign", "-n", Namespace, "-f", "key")), []Reviewer{alice}); err != nil || by.Name != "alice" {
		t.Errorf("%v, %v", by, err)
	}
	private, err := os.ReadFile(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParseKey(private)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := Sign(digest, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"allowed": "alice " + string(line), "ours.sig": string(ours)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said := run(digest+"\n", "-Y", "verify", "-f", "allowed", "-I", "alice", "-n", Namespace, "-s", "ours.sig"); !strings.Contains(said, "Good") {
		t.Error(said)
	}
	locked, err := os.ReadFile(filepath.Join(dir, "locked"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseKey(locked); !errors.Is(err, ErrPassphrase) {
		t.Errorf("got %v", err)
	}
	if _, err := ParseKey(pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: []byte("canary")})); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

func TestParseReviewer(t *testing.T) {
	alice, _ := reviewer(t, "alice")
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(alice.Key)))
	for text, want := range map[string]string{
		"":                              "not a public SSH key",
		"alice":                         "not a public SSH key",
		"ssh-ed25519 AAAA alice":        "not a public SSH key",
		`command="id" ` + line + " a":   "not a public SSH key",
		line + " a\n" + line + " bob":   "not a public SSH key",
		line:                            "there is no name after the key",
		line + " alice@example.org":     "",
		"# a comment\n" + line + " bob": "",
	} {
		r, err := ParseReviewer(text)
		switch {
		case want == "" && (err != nil || r.Name == "" || !bytes.Equal(r.Key.Marshal(), alice.Key.Marshal())):
			t.Errorf("%q is %q, %v", text, r.Name, err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
