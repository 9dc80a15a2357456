// Package archives tests readers of files that people write. Only tests import it.
package archives

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"slipway/internal/fault"
	"slipway/internal/must"
)

// Check reads each archive below testdata as a repository, of which there are at least so many. An archive is named after the rule
// that it breaks, and its file want has the exact refusal; one whose name begins with valid has what read returns instead. With
// update, want is written. comment is the archive's first line.
func Check(t *testing.T, least int, valid string, update bool, read func(t *testing.T, repository fs.FS, comment string) (text string, err error)) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < least {
		t.Fatalf("%d archives, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			must.Do(t, err)
			repository, err := txtar.FS(archive)
			must.Do(t, err)
			got, err := read(t, repository, string(archive.Comment))
			if r, ok := fault.Refusal(err); ok {
				got = "error: " + r.Error() + "\nhint: " + r.Hint + "\n"
			} else {
				must.Do(t, err)
			}
			if strings.HasPrefix(name, valid) != (err == nil) {
				t.Errorf("the name says otherwise: %s", got)
			}
			if strings.Contains(got, "canary") {
				t.Errorf("the refusal quotes a secret: %s", got)
			}
			want := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
			if want < 0 {
				t.Fatal("it has no file want")
			}
			if update {
				archive.Files[want].Data = []byte(got)
				must.Do(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			} else if got != string(archive.Files[want].Data) {
				t.Errorf("got\n%s\nwant\n%s", got, archive.Files[want].Data)
			}
		})
	}
}
