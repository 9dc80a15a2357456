package environment

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"slipway/internal/testkit/archives"
)

var update = flag.Bool("update", false, "write what is wanted into the archives")

// The environment's name is in the archive's comment.
func TestLoad(t *testing.T) {
	archives.Check(t, 30, "valid", *update, func(t *testing.T, repository fs.FS, comment string) (string, error) {
		_, environment, _ := strings.Cut(comment, "environment: ")
		e, err := Load(repository, strings.TrimSpace(environment))
		if err == nil {
			err = e.NeedPlanCredentials()
		}
		if err != nil {
			return "", err
		}
		var keys []string
		for _, l := range e.Layers {
			keys = append(keys, e.Dir(l)+" -> "+e.StateKey(l))
		}
		data, err := json.MarshalIndent(map[string]any{"file": e, "credentials": e.CredentialFiles, "states": keys}, "", "  ")
		return string(data) + "\n", err
	})
}

// A link can make prod mean test, or lead out of the repository.
func TestLoadRefusesLinks(t *testing.T) {
	file := []byte("credentials: [common]\nstate:\n  s3: {bucket: b-test, region: gra}\n")
	for link, want := range map[string]string{
		"environments/prod":          "environments/prod is a symbolic link",
		"environments/test/layer":    "environments/test/layer is a symbolic link",
		"credentials/common.enc.env": "credentials/common.enc.env is a symbolic link",
	} {
		t.Run(link, func(t *testing.T) {
			root := t.TempDir()
			for path, data := range map[string][]byte{
				"environments/test/environment.yaml": append([]byte("layers: [{path: layer}]\n"), file...),
				"environments/test/code/main.tf":     nil,
				"environments/test/layer/main.tf":    nil,
				"credentials/common.enc.env":         nil,
			} {
				full := filepath.Join(root, path)
				if strings.HasPrefix(path, link) {
					continue
				}
				if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Join(root, filepath.Dir(link)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(root, "environments/test/code"), filepath.Join(root, link)); err != nil {
				t.Fatal(err)
			}
			name := "test"
			if link == "environments/prod" {
				name = "prod"
			}
			if _, err := Load(os.DirFS(root), name); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestNoEnvironments(t *testing.T) {
	if _, err := List(fstest.MapFS{}); err == nil || err.Error() != "the repository has no folder environments" {
		t.Errorf("got %v", err)
	}
}

// FuzzLoad: no file makes the decoder panic, and none gets past the rules with
// a state that another environment could have.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, "environment.yaml") {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Load(fstest.MapFS{
			"environments/test/environment.yaml": {Data: data},
			"environments/test/main.tf":          {},
			"environments/test/layer/main.tf":    {},
		}, "test")
		if err != nil {
			return
		}
		for _, l := range e.Layers {
			if key := e.StateKey(l); !strings.HasPrefix(key, "test/") || strings.Contains(key, "..") {
				t.Errorf("the state of %q is at %q", l.Path, key)
			}
		}
	})
}
