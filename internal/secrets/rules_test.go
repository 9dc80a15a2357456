package secrets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
)

// TestCheck has one fault in each repository.
func TestCheck(t *testing.T) {
	key := func() (*age.X25519Identity, string) {
		k, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		return k, k.Recipient().String()
	}
	mine, me := key()
	_, other := key()
	identity, err := ParseIdentity(mine.String())
	if err != nil {
		t.Fatal(err)
	}
	seal := func(values map[string]string, to []string) string {
		data, err := Seal("credentials/test.enc.env", values, to)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	sealed := func(to ...string) string { return seal(map[string]string{"NAME": "canary-1"}, to) }
	empty := func(to ...string) string { return seal(map[string]string{"NAME": "canary-1", "PREVIOUS": ""}, to) }
	rules := func(to ...string) string {
		return "creation_rules:\n  - path_regex: ^credentials/.*\\.enc\\.env$\n    age: " + strings.Join(to, ",") + "\n"
	}
	tampered := strings.Replace(sealed(me), "NAME=ENC[AES256_GCM,data:", "NAME=ENC[AES256_GCM,data:AA", 1)
	for name, c := range map[string]struct {
		files  map[string]string
		fault  string // empty: none
		hint   string
		opened bool
	}{
		"well":                        {map[string]string{".sops.yaml": rules(me), "credentials/test.enc.env": sealed(me)}, "", "", true},
		"for another reader":          {map[string]string{".sops.yaml": rules(other), "credentials/test.enc.env": sealed(other)}, "", "", false},
		"recipients in another order": {map[string]string{".sops.yaml": rules(me, other), "credentials/test.enc.env": sealed(other, me)}, "", "", true},
		"a template is not secret":    {map[string]string{".sops.yaml": rules(me), "credentials/test.enc.env": sealed(me), "credentials/test.enc.env.example": "NAME=\n"}, "", "", true},
		"plain text":                  {map[string]string{".sops.yaml": rules(me), "credentials/test.enc.env": "NAME=canary-1\n"}, "is not encrypted", "sops --encrypt --in-place", false},
		"a plain twin":                {map[string]string{".sops.yaml": rules(me), "credentials/test.enc.env": sealed(me), "credentials/test.env": "NAME=canary-1\n"}, "credentials/test.env is the plain text of credentials/test.enc.env", "git rm --cached credentials/test.env", true},
		"too many readers":            {map[string]string{".sops.yaml": rules(me), "credentials/test.enc.env": sealed(me, other)}, "and .sops.yaml names " + me, "dagger call secrets update-keys --file=credentials/test.enc.env", false},
		"too few readers":             {map[string]string{".sops.yaml": rules(me, other), "credentials/test.enc.env": sealed(me)}, "and .sops.yaml names", "update-keys", false},
		"changed by hand":             {map[string]string{".sops.yaml": rules(me), "credentials/test.enc.env": tampered}, "changed without sops", "git log", false},
		"meant to be empty":           {map[string]string{".sops.yaml": rules(me), "credentials/test.enc.env": empty(me)}, "", "", true},
		"meant to be empty, no key":   {map[string]string{".sops.yaml": rules(other), "credentials/test.enc.env": empty(other)}, "", "", false},
		"a line appended, no key":     {map[string]string{".sops.yaml": rules(other), "credentials/test.enc.env": sealed(other) + "PREVIOUS=\n"}, "has an empty PREVIOUS that EMPTY_VARIABLES does not list", "git log -p", false},
		"a line appended":             {map[string]string{".sops.yaml": rules(me), "credentials/test.enc.env": sealed(me) + "PREVIOUS=\n"}, "has an empty PREVIOUS that EMPTY_VARIABLES does not list", "git log", false},
		"a name twice":                {map[string]string{".sops.yaml": rules(other), "credentials/test.enc.env": sealed(other) + "NAME=\n"}, "defines a name twice: NAME", "git log -p", false},
		"no rules":                    {map[string]string{"credentials/test.enc.env": sealed(me)}, "the repository has no .sops.yaml", "$EDITOR .sops.yaml", false},
		"no rule for the file":        {map[string]string{".sops.yaml": strings.Replace(rules(me), "^credentials/", "^elsewhere/", 1), "credentials/test.enc.env": sealed(me)}, ".sops.yaml", "$EDITOR .sops.yaml", false},
	} {
		t.Run(name, func(t *testing.T) {
			repository := t.TempDir()
			for path, text := range c.files {
				path = filepath.Join(repository, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			findings, err := Check(repository, &identity)
			if err != nil {
				t.Fatal(err)
			}
			faults, opened := 0, false
			for _, f := range findings {
				opened = opened || f.Opened
				if f.Fault == nil {
					continue
				}
				faults++
				if !strings.Contains(f.Fault.Error(), c.fault) || !strings.Contains(f.Hint, c.hint) || strings.Contains(f.Fault.Error(), "canary") {
					t.Errorf("fault %q, hint %q", f.Fault, f.Hint)
				}
			}
			if wanted := min(len(c.fault), 1); faults != wanted {
				t.Errorf("%d faults in %+v", faults, findings)
			}
			if opened != c.opened {
				t.Errorf("opened: %v", opened)
			}
		})
	}
}

// What is a SOPS file by its place and name.
func TestList(t *testing.T) {
	repository := t.TempDir()
	if names, err := List(repository); err != nil || len(names) > 0 {
		t.Errorf("without a folder: %q, %v", names, err)
	}
	for _, name := range []string{"test.enc.env", "deep/er/prod.enc.yaml", "plain.env", "README.md", ".gitignore", "deep/.gitignore", "test.enc.env.example"} {
		path := filepath.Join(repository, Folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"credentials/deep/er/prod.enc.yaml", "credentials/plain.env", "credentials/test.enc.env"}
	if names, err := List(repository); err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q, %v", names, err)
	}
}

// A file that is there and cannot be read is a fault, and not a file without one.
func TestCheckUnreadable(t *testing.T) {
	repository := t.TempDir()
	if err := os.Mkdir(filepath.Join(repository, Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nothing", filepath.Join(repository, Folder, "a.enc.env")); err != nil {
		t.Fatal(err)
	}
	findings, err := Check(repository, nil)
	if err != nil || len(findings) != 1 || !errors.Is(findings[0].Fault, fs.ErrNotExist) || findings[0].Hint != "ls -l credentials/a.enc.env" {
		t.Errorf("got %+v, %v", findings, err)
	}
}

func TestEnvelope(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	identity, err := ParseIdentity(key.String())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := Envelope([]byte("text"), identity.Recipients())
	if err != nil || strings.Contains(string(sealed), "text") {
		t.Fatalf("%q, %v", sealed, err)
	}
	if got, err := identity.Open(sealed); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v", got, err)
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := identity.Open(sealed); err == nil {
		t.Error("a changed envelope opens")
	}
	if _, err := Envelope([]byte("text"), nil); err == nil {
		t.Error("an envelope for nobody is made")
	}
}
