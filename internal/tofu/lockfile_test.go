package tofu

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// A lock file is read with the version and the packages of each provider.
func TestReadLockFile(t *testing.T) {
	const text = `# This file is maintained automatically by "tofu init".
provider "registry.opentofu.org/acme/tiny" {
  version     = "1.0.0"
  constraints = "~> 1.0"
  hashes = [
    "h1:local",
    "zh:0a1b",
    "zh:2c3d",
  ]
}

provider "registry.opentofu.org/acme/bare" {
  version = "2.0.0"
}
`
	for name, c := range map[string]struct {
		text string
		want map[string]string // version and packages
		err  string
	}{
		"empty": {want: map[string]string{}},
		"two providers": {text: text, want: map[string]string{
			"registry.opentofu.org/acme/tiny": "1.0.0 zh:0a1b zh:2c3d", "registry.opentofu.org/acme/bare": "2.0.0 ",
		}},
		"another block": {text: "other {}\n" + text[:0], want: map[string]string{}},
		"not HCL":       {text: "provider {", err: "read the provider lock file: "},
		"not a version": {text: "provider \"a\" {\n  version = [1]\n}\n", err: "read the provider lock file: "},
	} {
		entries, err := ReadLockFile([]byte(c.text))
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		got := map[string]string{}
		for address, p := range entries {
			got[address] = p.Version + " " + strings.Join(slices.Sorted(maps.Keys(p.Packages)), " ")
		}
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
