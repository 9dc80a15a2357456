package pins

import (
	"os"
	"strings"
	"testing"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestRead(t *testing.T) {
	text := "# a comment\n\nOPENTOFU=ghcr.io/opentofu/opentofu:1.12.6-minimal@" + digest + "\n" +
		"DEBIAN=127.0.0.1:5077/library/debian:trixie-slim@" + digest + "\n"
	got, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []Pin{
		{"OPENTOFU", "ghcr.io/opentofu/opentofu", "1.12.6-minimal", digest},
		{"DEBIAN", "127.0.0.1:5077/library/debian", "trixie-slim", digest},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if v := got[0].Version(); v != "1.12.6" {
		t.Errorf("version %q, want 1.12.6", v)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a tag without a digest":  {"A=debian:trixie", `line 1: "A=debian:trixie" is not NAME=repository:tag@sha256:digest`},
		"a digest without a tag":  {"A=debian@" + digest, "line 1: "},
		"a short digest":          {"A=debian:trixie@sha256:abc", "line 1: "},
		"a name in lower case":    {"a=debian:trixie@" + digest, "line 1: "},
		"a line of another form":  {"\nexport A", `line 2: "export A" is not`},
		"the same name twice":     {"A=d:1@" + digest + "\nA=d:2@" + digest, "line 2: A is pinned twice"},
		"white space in the name": {"A=debian :trixie@" + digest, "line 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestPinsFile checks the shipped file: it can be read, and each pin has the comment with which
// Renovate finds newer versions.
func TestPinsFile(t *testing.T) {
	data, err := os.ReadFile("../../ci/pins.env")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 {
		t.Fatal("ci/pins.env pins nothing")
	}
	for _, p := range got {
		name := strings.TrimPrefix(strings.TrimPrefix(p.Repository, "docker.io/library/"), "docker.io/")
		hint := "# renovate: datasource=docker depName=" + name + "\n" + p.Name + "="
		if !strings.Contains(string(data), hint) {
			t.Errorf("%s has no line %q above it", p.Name, strings.Split(hint, "\n")[0])
		}
	}
}
