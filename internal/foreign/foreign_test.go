package foreign

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"slipway/internal/environment"
	"slipway/internal/fault"
)

var update = flag.Bool("update", false, "write what is wanted into the archives")

// TestJudge reads each archive under testdata as a repository with one environment. An
// archive is named after what its code runs, and holds the exact refusal; of those that
// begin with fine nothing is refused.
func TestJudge(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d archives, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fsys, err := txtar.FS(archive)
			if err != nil {
				t.Fatal(err)
			}
			e, err := environment.Load(fsys, "test")
			if err != nil {
				t.Fatal(err)
			}
			findings, err := Find(fsys, "environments/test")
			if err == nil {
				err = Judge(findings, e)
			}
			got := "fine\n"
			if r, ok := fault.Refusal(err); ok {
				got = "error: " + r.Error() + "\nhint: " + r.Hint + "\n"
			} else if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "fine") != (err == nil) {
				t.Errorf("the name says otherwise: %s", got)
			}
			last := &archive.Files[len(archive.Files)-1]
			if last.Name != "want" {
				t.Fatal("the last file is not want")
			}
			if *update {
				last.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(last.Data) {
				t.Errorf("got\n%s\nwant\n%s", got, last.Data)
			}
		})
	}
}

// Each form of a source, pinned and not.
func TestUnpinned(t *testing.T) {
	commit := strings.Repeat("0123456789", 4)
	digest := "sha256:" + strings.Repeat("0", 64)
	for _, c := range []struct {
		source, version string
		pinned          bool
	}{
		{"git::https://example.org/m.git?ref=" + commit, "", true},
		{"git::https://example.org/m.git//sub?ref=" + commit + "&depth=1", "", true},
		{"git::ssh://git@example.org/m.git?ref=" + commit, "", true},
		{"github.com/acme/m?ref=" + commit, "", true},
		{"git@github.com:acme/m.git?ref=" + commit, "", true},
		{"git::https://example.org/m.git", "", false},
		{"git::https://example.org/m.git?ref=v1.0.0", "", false},
		{"git::https://example.org/m.git?ref=" + commit[:39], "", false},
		{"git::https://example.org/m.git?ref=" + commit + "&ref=main", "", false},
		{"git::https://example.org/m.git?x=?ref=" + commit, "", false},
		{"git::https://example.org/m.git?ref=" + commit + "&depth=%zz", "", false},
		{"git::https://example.org/m.git?ref=" + commit + ";ref=main", "", false},
		{"git::https://example.org/m.git?checksum=" + digest, "", false},
		{"github.com/acme/m", "", false},
		{"acme/m/ovh", "1.2.3", true},
		{"acme/m/ovh", "= 1.2.3", true},
		{"registry.example.org/acme/m/ovh//sub", "1.2.3-rc1", true},
		{"acme/m/ovh", "", false},
		{"acme/m/ovh", "~> 1.2.3", false},
		{"acme/m/ovh", ">= 1.2.3", false},
		{"acme/m/ovh", "1.2", false},
		{"acme/m/ovh", "1.2.3, 1.2.4", false},
		{"https://example.org/m.zip?checksum=" + digest, "", true},
		{"https://example.org/m.zip", "", false},
		{"https://example.org/m.zip?checksum=md5:00", "", false},
		{"https://example.org/m.zip?checksum=file:https://example.org/sums", "", false},
		{"oci://example.org/m?digest=" + digest, "", true},
		{"oci://example.org/m?tag=v1", "", false},
		{"s3::https://s3.amazonaws.com/b/m.zip", "", false},
	} {
		if fault := unpinned(c.source, c.version); (fault == "") != c.pinned {
			t.Errorf("%s %s: %q", c.source, c.version, fault)
		}
	}
}

// A provider has one address, however its source is written.
func TestAddress(t *testing.T) {
	for source, want := range map[string]string{
		"aws":                              "registry.opentofu.org/hashicorp/aws",
		"ovh/ovh":                          "registry.opentofu.org/ovh/ovh",
		"OVH/Ovh":                          "registry.opentofu.org/ovh/ovh",
		"Registry.OpenTofu.org/ovh/ovh":    "registry.opentofu.org/ovh/ovh",
		"registry.terraform.io/ovh/ovh":    "registry.terraform.io/ovh/ovh",
		"terraform.io/builtin/terraform":   "terraform.io/builtin/terraform",
		"registry.example.org:8080/a/b":    "registry.example.org:8080/a/b",
		"registry.example.org/a/b/strange": "registry.example.org/a/b/strange",
	} {
		if got := Address(source); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
}

// A provider that is not known is named once, where it comes up first.
func TestProviderIsNamedOnce(t *testing.T) {
	const required = "terraform {\n  required_providers {\n    one = { source = \"acme/thing\" }\n    two = { source = \"acme/thing\" }\n" +
		"    three = { source = \"acme/thing\" }\n    four = { source = \"acme/thing\" }\n  }\n}\n"
	fsys := fstest.MapFS{
		"m/a.tf": {Data: []byte("\n\n\n" + required)},
		"m/b.tf": {Data: []byte("resource \"one_thing\" \"one\" {}\n")},
	}
	want := []Finding{{Kind: Provider, Name: "registry.opentofu.org/acme/thing", File: "m/a.tf", Line: 6,
		What: "provider registry.opentofu.org/acme/thing is not on the list of known providers"}}
	for range 20 {
		got, _, err := Folder(fsys, "m")
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
}

// The environments of this repository need nothing to be allowed.
func TestOwnEnvironments(t *testing.T) {
	repository := os.DirFS("../..")
	names, err := environment.List(repository)
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		e, err := environment.Load(repository, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, layer := range e.Layers {
			findings, err := Find(repository, e.Dir(layer))
			if err != nil || len(findings) > 0 {
				t.Errorf("%s: %v, %v", name, findings, err)
			}
		}
	}
}
