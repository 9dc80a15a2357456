package build

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folderOf writes files to a new folder.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An image is built again when a file of its program has changed, and only then.
func TestAppInputs(t *testing.T) {
	base := map[string]string{"server.js": "1", "lib/a.js": "2"}
	inputs := appInputs(folderOf(t, base))
	for name, c := range map[string]struct {
		file, content string
		same          bool
	}{
		"another content": {"server.js", "x", false},
		"another file":    {"b.js", "", false},
		"a test":          {"test/a.js", "x", true},
		"a test beside":   {"lib/a.test.js", "x", true},
		"documentation":   {"README.md", "x", true},
		"what npm left":   {"node_modules/pg/index.js", "x", true},
	} {
		dir := folderOf(t, base)
		if err := WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if same := slices.Equal(appInputs(dir), inputs); same != c.same {
			t.Errorf("%s: the same is %v", name, same)
		}
	}
}

// A program without packages needs no npm, and is placed at /app with fixed modes.
func TestAppLayer(t *testing.T) {
	s := Cache(t.TempDir())
	archive := filepath.Join(t.TempDir(), "layer.tar")
	dir := folderOf(t, map[string]string{"server.js": "1", "lib/a.js": "2", "a.test.js": "3"})
	t.Setenv("PATH", t.TempDir())
	if err := s.appLayer(t.Context(), dir, t.TempDir(), archive); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	if got := strings.Join(names, " "); got != "app/ app/lib/ app/lib/a.js app/server.js" {
		t.Error(got)
	}
}
