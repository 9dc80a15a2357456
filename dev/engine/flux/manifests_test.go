package flux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The kustomization names each controller with the version of its module.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	if err := writeInstall(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range controllers {
		if want := "newName: ghcr.io/fluxcd/" + k.name + ", newTag: " + k.module.Version; !strings.Contains(string(text), want) {
			t.Errorf("it has no %q:\n%s", want, text)
		}
	}
}

// A URL that the release no longer has is an error, not a download.
func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kustomization.yaml")
	if err := os.WriteFile(file, []byte("resources: [a, b]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replace(file, map[string]string{"a": "x", "b": "y"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "resources: [x, y]\n" {
		t.Errorf("got %q", got)
	}
	if err := replace(file, map[string]string{"a": "x"}); err == nil || !strings.Contains(err.Error(), `has no "a"`) {
		t.Errorf("got %v", err)
	}
}
