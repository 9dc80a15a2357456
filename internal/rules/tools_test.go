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

// Every tool is started by one function, as a user that can read nothing of ours: no
// other part of the runner starts a program.
func TestToolsAreConfined(t *testing.T) {
	found := map[string]bool{}
	for _, root := range []string{"../../internal", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
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
	const only = "internal/confine/confine.go"
	if !found[only] {
		t.Errorf("%s starts nothing", only)
	}
	delete(found, only)
	for path := range found {
		t.Errorf("%s starts a program without internal/confine", path)
	}
}
