package flux

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
	"slipway/internal/must"
	"slipway/internal/testkit/schemas"
)

var update = flag.Bool("update", false, "write what is wanted into the archives, and the schema")

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
			must.Do(t, err)
			repository, err := txtar.FS(archive)
			must.Do(t, err)
			f, err := Load(repository, "test")
			got := describe(t, f, err)
			if strings.HasPrefix(name, "valid") != (err == nil) {
				t.Errorf("the name says otherwise: %s", got)
			}
			if strings.Contains(got, "canary") {
				t.Errorf("the refusal quotes a secret: %s", got)
			}
			want := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
			if *update {
				archive.Files[want].Data = []byte(got)
				must.Do(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			} else if got != string(archive.Files[want].Data) {
				t.Errorf("got\n%s\nwant\n%s", got, archive.Files[want].Data)
			}
		})
	}
}

func describe(t *testing.T, f *Settings, err error) string {
	t.Helper()
	if r, ok := fault.Refusal(err); ok {
		return "error: " + r.Error() + "\nhint: " + r.Hint + "\n"
	}
	must.Do(t, err)
	data, err := json.MarshalIndent(f, "", "  ")
	must.Do(t, err)
	return string(data) + "\n"
}

// An environment without the file has no Flux.
func TestLoadNone(t *testing.T) {
	if _, err := Load(fstest.MapFS{}, "test"); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}

var schema = schemas.Schema{Of: &Settings{}, File: "../../environments/flux.schema.json", Title: FileName, Package: "./internal/flux"}

func TestSchema(t *testing.T) { schema.Check(t, *update) }

// The schema accepts what Load accepts, and refuses what breaks a rule of form.
func TestSchemaAgrees(t *testing.T) {
	schema.Agrees(t, map[string]bool{"valid-least": true, "valid-full": true, "valid-token": true, "valid-root": true, "unknown-key": false, "oci-tag": false, "secret-no-values": false, "secret-from": false})
}
