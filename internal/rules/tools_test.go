package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// starts matches what starts a program, or makes a process.
var starts = regexp.MustCompile(`\bexec\.Command|\bos\.StartProcess\(|\bsyscall\.(ForkExec|StartProcess|Exec)\(`)

// shared matches what makes a mount namespace whose mounts are still the host's on every machine with
// systemd: a mount inside is one outside. With Unshareflags, Go makes them private.
var shared = regexp.MustCompile(`Cloneflags\b[^\n]*CLONE_NEWNS`)

func TestMountNamespacesArePrivate(t *testing.T) {
	files := 0
	for _, root := range []string{"ci", "cmd", "dev", "e2e", "internal"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || path == "../../internal/rules/tools_test.go" {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			if found := shared.Find(text); found != nil {
				t.Errorf("%s has %q: use Unshareflags", path, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 {
		t.Errorf("only %d files were looked at", files)
	}
}

// Every tool is started by one function, as a user that can read nothing of ours: no
// other part of the runner starts a program. What only tests import is no part of it.
func TestToolsAreConfined(t *testing.T) {
	found := map[string]bool{}
	for _, root := range []string{"../../internal", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/internal/testkit/") {
				return err
			}
			text, err := os.ReadFile(path)
			if starts.Match(text) {
				found[strings.TrimPrefix(path, "../../")] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, only := range []string{"internal/confine/confine.go", "internal/confine/group.go"} {
		if !found[only] {
			t.Errorf("%s starts nothing", only)
		}
		delete(found, only)
	}
	for path := range found {
		t.Errorf("%s starts a program without internal/confine", path)
	}
}
