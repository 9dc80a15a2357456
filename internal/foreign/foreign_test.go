package foreign

import (
	"flag"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/testkit/archives"
)

var update = flag.Bool("update", false, "write what is wanted into the archives")

// Archives are named after what their code runs. Of those that begin with fine, nothing is refused.
func TestJudge(t *testing.T) {
	archives.Check(t, 20, "fine", *update, func(t *testing.T, repository fs.FS, _ string) (string, error) {
		e, err := environment.Load(repository, "test")
		must.Do(t, err)
		findings, err := Find(repository, "environments/test")
		if err == nil {
			err = Judge(findings, e)
		}
		return "fine\n", err
	})
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
