package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/dev/engine/build"
)

// What is built is named once, and all that the root and the images need is built before them.
func TestProducts(t *testing.T) {
	m := Maker{Cache: build.Cache(t.TempDir()), Repository: "../../.."}
	var names []string
	for _, p := range m.Products() {
		if slices.Contains(names, p.Name) {
			t.Errorf("two products are called %s", p.Name)
		}
		names = append(names, p.Name)
	}
	for _, i := range append(m.images(), m.Tools()...) {
		for _, f := range i.Files {
			if slices.Index(names, f.From.Name) > slices.Index(names, i.Product(m.Cache, m.Repository).Name) || !slices.Contains(names, f.From.Name) {
				t.Errorf("image %s needs %s, which is not built before", i.Pin, f.From.Name)
			}
		}
	}
}

// The program inside is built again when one of its files has changed.
func TestInside(t *testing.T) {
	key := func(change string) string {
		repository := t.TempDir()
		for name, text := range map[string]string{"go.mod": "", "go.sum": "", "cluster/inside/main.go": "", change: "x"} {
			if err := build.WriteFile(filepath.Join(repository, "dev/engine", name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return Maker{Repository: repository}.inside().Key()
	}
	same := key("README.md")
	for change, want := range map[string]bool{"go.mod": false, "go.sum": false, "cluster/inside/main.go": false, "cluster/inside/more.go": false, "main.go": true} {
		if got := key(change) == same; got != want {
			t.Errorf("%s: the same is %v", change, got)
		}
	}
}

// The versions agree with each other: a module nested in a repository has the version of the others.
func TestEdits(t *testing.T) {
	for _, edits := range [][]string{kubernetes.ModEdits, etcd.ModEdits} {
		for _, e := range edits {
			if at := strings.LastIndex(e, "@"); at < 0 || e[at+1:] != stagingVersion && e[at+1:] != etcdVersion {
				t.Errorf("%s", e)
			}
		}
	}
	for name, sums := range map[string][]string{"kubernetes": kubernetes.Sums, "etcd": etcd.Sums, "talos": machined.Sums} {
		for _, line := range sums {
			if len(strings.Fields(line)) != 3 {
				t.Errorf("%s: %q is no line of go.sum", name, line)
			}
		}
	}
}

// Each folder that a node keeps can be mounted in its root, which is read-only.
func TestOwnFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"usr/bin", "usr/sbin", "usr/lib/cni", "opt/cni/bin"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := build.WriteFile(filepath.Join(dir, "usr/lib/cni/bridge"), []byte("plugin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../usr/lib/os-release", filepath.Join(dir, "etc/os-release")); err != nil {
		t.Fatal(err)
	}
	if err := placeOwnFiles(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	release, err := os.ReadFile(filepath.Join(dir, "etc/os-release"))
	if err != nil || !strings.Contains(string(release), "ID=talos\nVERSION_ID="+TalosVersion+"\n") {
		t.Errorf("%v: %s", err, release)
	}
	plugin, err := os.ReadFile(filepath.Join(dir, "opt/cni/bin/bridge"))
	if err != nil || string(plugin) != "plugin" {
		t.Errorf("%v: %s", err, plugin)
	}
}
