// Package calls checks the `dagger call` commands that hints name against the functions in ci/.
package calls

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"
)

// A function is one of the Dagger module's.
type function struct {
	flags   map[string]bool
	returns string // type with functions of its own; empty: none of ours
}

// module maps the functions of each type by name, as the command line has them. The constructor is
// that of "".
type module map[string]map[string]function

// Check returns an error for the first command in a hint that no function takes.
func Check(hint string) error {
	m, err := read()
	if err != nil {
		return err
	}
	for {
		_, command, found := strings.Cut(hint, "dagger call ")
		if !found {
			return nil
		}
		words, rest := split(command)
		if err := m.check(words); err != nil {
			return fmt.Errorf("%q: %w", "dagger call "+strings.TrimSuffix(command, rest), err)
		}
		hint = rest
	}
}

// global are the flags of the command line itself.
var global = map[string]bool{"y": true, "auto-apply": true, "progress": true}

func (m module) check(words []string) error {
	flags, at := m[""]["new"].flags, "Slipway"
	called := false
	for _, word := range words {
		if name, ok := strings.CutPrefix(word, "-"); ok {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "-"), "=")
			if !flags[name] && (called || !global[name]) {
				return fmt.Errorf("there is no flag %s", name)
			}
			continue
		}
		if at == "" {
			return nil // functions of Dagger's own types
		}
		f, ok := m[at][word]
		if !ok {
			return fmt.Errorf("there is no function %s", word)
		}
		flags, at, called = f.flags, f.returns, true
	}
	if !called {
		return fmt.Errorf("it calls no function")
	}
	return nil
}

// split returns the words of a command, and the text behind it.
func split(text string) (words []string, rest string) {
	var word strings.Builder
	quote := rune(0)
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteRune(c)
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ' ':
			flush()
		// A comma, a semicolon or a bracket is that of the sentence.
		case c == '\n' || c == '#' || c == '&' || c == '|' || c == ';' || c == ')' || c == ',' && (i+1 == len(text) || text[i+1] == ' '):
			flush()
			return words, text[i:]
		default:
			word.WriteRune(c)
		}
	}
	flush()
	return words, ""
}

var read = sync.OnceValues(func() (module, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "dagger.json")); err == nil {
			break
		}
		if dir == "/" {
			return nil, fmt.Errorf("no folder above this one has a dagger.json")
		}
		dir = filepath.Dir(dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "ci/*.go"))
	if err != nil {
		return nil, err
	}
	m := module{}
	for _, path := range files {
		if strings.HasSuffix(path, ".gen.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() {
				m.add(f)
			}
		}
	}
	return m, nil
})

func (m module) add(f *ast.FuncDecl) {
	of := ""
	if f.Recv != nil {
		of = named(f.Recv.List[0].Type)
	}
	flags := map[string]bool{}
	for _, p := range f.Type.Params.List {
		fields := []*ast.Field{p}
		if options, ok := p.Type.(*ast.StructType); ok {
			fields = options.Fields.List // Dagger takes these as the parameters
		}
		for _, field := range fields {
			for _, name := range field.Names {
				flags[dashed(name.Name)] = true
			}
		}
	}
	returns := ""
	if f.Type.Results != nil && len(f.Type.Results.List) > 0 {
		returns = named(f.Type.Results.List[0].Type)
	}
	if m[of] == nil {
		m[of] = map[string]function{}
	}
	m[of][dashed(f.Name.Name)] = function{flags, returns}
}

// named returns the name of a type of the module, behind a pointer.
func named(e ast.Expr) string {
	star, ok := e.(*ast.StarExpr)
	if !ok {
		return ""
	}
	if name, ok := star.X.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// dashed writes a name as the command line does: lockID is lock-id.
func dashed(name string) string {
	var b strings.Builder
	before := 'A'
	for _, c := range name {
		if unicode.IsUpper(c) && !unicode.IsUpper(before) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(c))
		before = c
	}
	return b.String()
}
