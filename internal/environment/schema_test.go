package environment

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
)

const schemaFile = "../../environments/environment.schema.json"

// TestSchema keeps the committed schema that of the types.
func TestSchema(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(schemaFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("environments/environment.schema.json is not that of the types: go test ./internal/environment -update")
	}
}

// TestSchemaAgrees: the schema accepts what Load accepts, and refuses what
// breaks a rule of form.
func TestSchemaAgrees(t *testing.T) {
	file, err := os.Open(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	document, err := validator.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("environment", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("environment")
	if err != nil {
		t.Fatal(err)
	}
	for name, valid := range map[string]bool{
		"valid-small": true, "valid-full": true, "valid-http": true,
		"unknown-key": false, "unknown-key-inside": false, "secret-key": false,
		"wrong-type-bool": false, "wrong-type-number": false, "wrong-type-list": false,
		"no-state": false, "no-bucket": false, "no-region": false,
	} {
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.Files {
				if !strings.HasSuffix(f.Name, "environment.yaml") {
					continue
				}
				var value any
				if err := yaml.Unmarshal(f.Data, &value); err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(value); (err == nil) != valid {
					t.Errorf("valid: %v, want %v: %v", err == nil, valid, err)
				}
			}
		})
	}
}
