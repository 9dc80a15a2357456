package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPatch(t *testing.T) {
	for name, c := range map[string]struct{ before, want, Refusal string }{
		"once":  {"one two three", "one 2 three", ""},
		"never": {"one three", "one three", `occurs 0 times in a/file.go, not once: "two"`},
		"twice": {"two two", "two two", `occurs 2 times in a/file.go, not once: "two"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "a", "file.go")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(c.before), 0o644); err != nil {
				t.Fatal(err)
			}
			err := Patch{"a/file.go", "two", "2"}.apply(dir)
			if got, _ := os.ReadFile(file); string(got) != c.want {
				t.Errorf("the file is %q", got)
			}
			if c.Refusal == "" && err != nil || c.Refusal != "" && (err == nil || !strings.Contains(err.Error(), c.Refusal)) {
				t.Errorf("error %v", err)
			}
		})
	}
	if err := (Patch{"missing", "", ""}).apply(t.TempDir()); err == nil {
		t.Error("no error where the file is missing")
	}
}

// What a patch changes must lead to a new program.
func TestInputsHavePatches(t *testing.T) {
	plain := GoProgram{}
	seen := [][]string{plain.Inputs()}
	for _, p := range []Patch{{"a", "b", "c"}, {"x", "b", "c"}, {"a", "x", "c"}, {"a", "b", "x"}} {
		patched := plain
		patched.Patches = []Patch{p}
		in := patched.Inputs()
		if slices.ContainsFunc(seen, func(other []string) bool { return slices.Equal(in, other) }) {
			t.Errorf("the inputs with %v are those of another program", p)
		}
		seen = append(seen, in)
	}
}
