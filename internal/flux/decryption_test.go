package flux

import (
	"strings"
	"testing"
	"testing/fstest"

	"filippo.io/age"

	"slipway/internal/must"
	"slipway/internal/secrets"
)

func TestForeign(t *testing.T) {
	own, err := age.GenerateX25519Identity()
	must.Do(t, err)
	other, err := age.GenerateX25519Identity()
	must.Do(t, err)
	recipient, err := Recipient("# a comment\n" + own.String() + "\n")
	must.Do(t, err)
	if recipient != own.Recipient().String() {
		t.Errorf("it is %s", recipient)
	}
	sealed := func(to ...string) *fstest.MapFile {
		data, err := secrets.SealDocument("x.yaml", []byte("stringData: {a: b}\n"), to)
		must.Do(t, err)
		return &fstest.MapFile{Data: data}
	}
	repository := fstest.MapFS{
		"clusters/a/both.yaml":  sealed(other.Recipient().String(), recipient),
		"clusters/a/plain.yaml": {Data: []byte("kind: ConfigMap\n")},
		"clusters/a/odd.yaml":   {Data: []byte("{{ a template }}\n")},
		"clusters/a/README.md":  sealed(other.Recipient().String()),
		"clusters/b/other.yaml": sealed(other.Recipient().String()),
		"credentials/x.yaml":    sealed(other.Recipient().String()),
	}
	for folder, want := range map[string]string{"./clusters/a": "", "./clusters/b": "clusters/b/other.yaml", "./clusters/none": "", "./": "clusters/b/other.yaml"} {
		name, recipients, err := Foreign(repository, folder, recipient)
		must.Do(t, err)
		if name != want || want != "" && strings.Join(recipients, " ") != other.Recipient().String() {
			t.Errorf("%s: %s, %q", folder, name, recipients)
		}
	}
	for _, bad := range []string{"", "canary", own.String() + "\n" + other.String()} {
		if _, err := Recipient(bad); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
