package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// effects are the helpers in ci/ by which a function reaches out of the engine.
var effects = []string{"call", "report", "runUncached", "planned", "toGitHub", "driftOf", "change", "changes", "login", "runTool", "Terminal"}

// moduleFiles parses the Dagger module's files.
func moduleFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob("../../ci/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, path := range paths {
		if files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// uncached lists the exported functions in a file of ci/ that reach out and may be
// answered from the cache.
func uncached(file *ast.File) (cached []string, seen int) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || !f.Name.IsExported() || f.Body == nil {
			continue
		}
		reaches := false
		ast.Inspect(f.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				reaches = reaches || slices.Contains(effects, f.Sel.Name)
			case *ast.Ident:
				reaches = reaches || slices.Contains(effects, f.Name)
			}
			return true
		})
		if reaches {
			seen++
			if !strings.Contains(f.Doc.Text(), `+cache="never"`) {
				cached = append(cached, f.Name.Name)
			}
		}
	}
	return cached, seen
}

// returnsObject reports whether a function returns more than text.
func returnsObject(f *ast.FuncDecl) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) == 0 {
		return false
	}
	_, pointer := f.Type.Results.List[0].Type.(*ast.StarExpr)
	return pointer
}

// Dagger keeps a function's result for a week unless the function says otherwise. An object that
// is built from a folder of its call cannot be loaded when that call has ended.
func TestObjectsAreNotKept(t *testing.T) {
	seen := 0
	for path, file := range moduleFiles(t) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			// The objects with the functions of secrets, clusters and Flux hold only what the module was given.
			if !ok || f.Recv == nil || !f.Name.IsExported() || !returnsObject(f) || f.Type.Params.NumFields() == 0 && slices.Contains([]string{"Secrets", "Cluster", "Flux"}, f.Name.Name) {
				continue
			}
			seen++
			if !strings.Contains(f.Doc.Text(), "+cache=") {
				t.Errorf("%s: %s returns an object and says nothing about the cache", path, f.Name.Name)
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d functions return an object", seen)
	}
}

// No function that reaches out is answered from Dagger's cache: it would say that
// it had planned or applied, and would not have.
func TestEffectsAreNotCached(t *testing.T) {
	seen := 0
	for path, file := range moduleFiles(t) {
		cached, n := uncached(file)
		seen += n
		for _, name := range cached {
			t.Errorf(`%s: %s reaches out, and is not +cache="never"`, path, name)
		}
	}
	if seen < 18 {
		t.Errorf("only %d functions reach out", seen)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n\n// Apply applies.\nfunc (m *M) Apply() { m.call() }\n", parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if cached, _ := uncached(file); len(cached) != 1 {
		t.Error("it does not find one that is")
	}
}
