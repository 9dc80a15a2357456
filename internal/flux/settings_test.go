package flux

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"testing"
	"testing/fstest"

	"slipway/internal/testkit/archives"
	"slipway/internal/testkit/schemas"
)

var update = flag.Bool("update", false, "write what is wanted into the archives, and the schema")

func TestLoad(t *testing.T) {
	archives.Check(t, 30, "valid", *update, func(t *testing.T, repository fs.FS, _ string) (string, error) {
		f, err := Load(repository, "test")
		if err != nil {
			return "", err
		}
		data, err := json.MarshalIndent(f, "", "  ")
		return string(data) + "\n", err
	})
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
