package stage

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A module with tests is one folder, whether they lie beside its code or in its folder tests.
func TestModulesWithTests(t *testing.T) {
	repository := t.TempDir()
	if dirs, err := modulesWithTests(repository); err != nil || len(dirs) > 0 {
		t.Errorf("%q, %v", dirs, err)
	}
	for _, name := range []string{
		"modules/a/tests/one.tftest.hcl", "modules/a/tests/two.tofutest.hcl", "modules/b/b.tftest.hcl", "modules/c/c.tofutest.hcl",
		"modules/none/main.tf", "modules/none/tests/notes.hcl", "modules/none/folder.tftest.hcl/x", "tests/own.tftest.hcl",
	} {
		path := filepath.Join(repository, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, nil, 0o600))
	}
	dirs, err := modulesWithTests(repository)
	if err != nil || !slices.Equal(dirs, []string{"modules/a", "modules/b", "modules/c", "."}) {
		t.Errorf("%q, %v", dirs, err)
	}
	if dirs, err := modulesWithTests(filepath.Join(repository, "nowhere")); err == nil {
		t.Errorf("of no repository: %q", dirs)
	}
}
