package rules

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A gopackage is one folder of Go code below internal/ or cmd/.
type gopackage struct {
	imports     map[string]bool // of this module, less its name; by code outside of tests
	testImports map[string]bool
	lines       int // of code outside of tests
	doc         string
}

func gopackages(t *testing.T) map[string]*gopackage {
	t.Helper()
	found := map[string]*gopackage{}
	for _, top := range []string{"internal", "cmd"} {
		err := filepath.WalkDir("../../"+top, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../../")
			p := found[name]
			if p == nil {
				p = &gopackage{imports: map[string]bool{}, testImports: map[string]bool{}}
				found[name] = p
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly|parser.ParseComments)
			if err != nil {
				return err
			}
			imports := p.testImports
			if !strings.HasSuffix(file, "_test.go") {
				imports = p.imports
				p.lines += bytes.Count(text, []byte("\n"))
				p.doc += parsed.Doc.Text()
			}
			for _, spec := range parsed.Imports {
				if at, err := strconv.Unquote(spec.Path.Value); err == nil {
					if own, ok := strings.CutPrefix(at, "slipway/"); ok {
						imports[own] = true
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// No command imports another one, and only the program imports them.
func TestRooms(t *testing.T) {
	const rooms = "internal/commands"
	seen := 0
	for name, p := range gopackages(t) {
		for imported := range p.imports {
			if path.Dir(imported) != rooms {
				continue
			}
			seen++
			if name != "cmd/slipway" {
				t.Errorf("%s imports %s: what two commands share belongs in its own package beside %s", name, imported, rooms)
			}
		}
	}
	if seen < 9 {
		t.Errorf("only %d imports of commands were seen", seen)
	}
}

// No program imports packages that are only for tests.
func TestSupportOfTests(t *testing.T) {
	support := func(name string) bool {
		return name == "internal/must" || name == "internal/testkit" || strings.HasPrefix(name, "internal/testkit/")
	}
	for name, p := range gopackages(t) {
		for imported := range p.imports {
			if support(imported) && !support(name) {
				t.Errorf("%s imports %s, which is for tests", name, imported)
			}
		}
	}
}

// A package that gets large is split, or says why not.
func TestSize(t *testing.T) {
	const most, reason = 1500, "It is this large because"
	for name, p := range gopackages(t) {
		if p.lines > most && !strings.Contains(strings.Join(strings.Fields(p.doc), " "), reason) {
			t.Errorf("%s has %d lines, more than %d: split it, or say %q in its doc comment", name, p.lines, most, reason)
		}
		if p.lines > 0 && p.doc == "" {
			t.Errorf("%s has no doc comment", name)
		}
	}
}
