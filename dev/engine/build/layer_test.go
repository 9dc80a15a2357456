package build

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two archives of the same files are the same bytes, whatever their times and
// the umask they were written under.
func TestWriteLayerIsReproducible(t *testing.T) {
	digest := func(mode os.FileMode) [32]byte {
		dir := t.TempDir()
		for _, name := range []string{"bin/go", "src/a.go"} {
			path := filepath.Join(dir, "tree", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700|mode); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(name), mode); err != nil {
				t.Fatal(err)
			}
		}
		archive := filepath.Join(dir, "layer.tar")
		programs := func(name string) bool { return strings.HasPrefix(name, "bin/") }
		if err := WriteLayer(archive, Placement{filepath.Join(dir, "tree"), "/usr/local/go", programs}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(data)
	}
	if digest(0o644) != digest(0o400) {
		t.Error("two archives of the same content differ")
	}
}
