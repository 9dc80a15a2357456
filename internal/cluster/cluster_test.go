package cluster

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"slipway/internal/fault"
)

var update = flag.Bool("update", false, "write what is wanted into the archives")

// TestLoad reads each archive below testdata as a repository. An archive is named after the rule that
// it breaks and has the exact refusal; those that begin with valid have what is read instead.
func TestLoad(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d archives, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			repository, err := txtar.FS(archive)
			if err != nil {
				t.Fatal(err)
			}
			c, warnings, err := Load(repository, "test")
			got := describe(t, c, warnings, err)
			if strings.HasPrefix(name, "valid") != (err == nil) {
				t.Errorf("the name says otherwise: %s", got)
			}
			if strings.Contains(got, "canary") {
				t.Errorf("the refusal quotes a secret: %s", got)
			}
			want := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
			if *update {
				archive.Files[want].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(archive.Files[want].Data) {
				t.Errorf("got\n%s\nwant\n%s", got, archive.Files[want].Data)
			}
		})
	}
}

func describe(t *testing.T, c *Cluster, warnings []string, err error) string {
	t.Helper()
	if r, ok := fault.Refusal(err); ok {
		return "error: " + r.Error() + "\nhint: " + r.Hint + "\n"
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data) + "\n"
	for _, w := range warnings {
		text += "warning: " + w + "\n"
	}
	return text
}

// An environment without the file has no cluster.
func TestLoadNone(t *testing.T) {
	if _, _, err := Load(fstest.MapFS{}, "test"); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}
