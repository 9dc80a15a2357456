package main

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"slipway/internal/run"
)

// flagsOf returns the flags of a command, with their defaults.
func flagsOf(c run.Command) map[string]string {
	all := map[string]string{}
	c.FlagSet(&run.Options{}).VisitAll(func(f *flag.Flag) { all[f.Name] = f.DefValue })
	return all
}

// literals returns the texts in a function of ci/.
func literals(t *testing.T, f *ast.FuncDecl) (texts []string) {
	t.Helper()
	ast.Inspect(f, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		return true
	})
	return texts
}

// ofOthers are flags of other programs that ci/ starts.
var ofOthers = []string{"data", "dns", "name", "no-install-recommends", "pins", "container"}

// byDefault are flags that no function of ci/ passes: the folders and files are mounted where the runner looks
// for them.
var byDefault = []string{"repo", "work", "out", "identity", "pins", "run-id", "env"}

// The functions of ci/ and the runner agree: each flag that a function passes is one of its command, each flag of a
// command is passed by a function, and each path that the runner expects is mounted.
func TestModuleCalls(t *testing.T) {
	paths, err := filepath.Glob("../../ci/*.go")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	passed := map[string]map[string]bool{} // flags by command; "" is any
	named := map[string]bool{}             // all texts of ci/
	var values []string                    // paths that are passed
	for _, path := range paths {
		if strings.HasSuffix(path, ".gen.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			texts := literals(t, f)
			var called []run.Command
			for _, text := range texts {
				named[text] = true
				if c, ok := find(text); ok {
					called = append(called, c)
				}
			}
			for _, text := range texts {
				name, ok := strings.CutPrefix(text, "--")
				if !ok || name == "" { // "--" itself
					continue
				}
				name, value, _ := strings.Cut(name, "=")
				if slices.Contains(ofOthers, name) {
					continue
				}
				if strings.HasPrefix(value, "/") {
					values = append(values, value)
				}
				known := len(called) == 0
				for _, c := range called {
					_, has := flagsOf(c)[name]
					known = known || has
					add(passed, c.Name, name)
				}
				if len(called) == 0 {
					add(passed, "", name)
				}
				if !known {
					t.Errorf("%s: %s passes --%s, which its command does not have", path, f.Name.Name, name)
				}
			}
		}
	}
	for _, value := range values {
		if !named[value] {
			t.Errorf("ci/ passes %s, and mounts nothing there", value)
		}
	}
	for _, f := range commands {
		c := f()
		for name, value := range flagsOf(c) {
			if strings.HasPrefix(value, "/") && name != "out" && !named[value] {
				t.Errorf("%s looks for --%s at %s, and ci/ mounts nothing there", c.Name, name, value)
			}
			if !passed[c.Name][name] && !passed[""][name] && !slices.Contains(byDefault, name) && !strings.HasPrefix(value, "/") {
				t.Errorf("nobody can reach --%s of %s", name, c.Name)
			}
		}
	}
}

func add(all map[string]map[string]bool, key, value string) {
	if all[key] == nil {
		all[key] = map[string]bool{}
	}
	all[key][value] = true
}
