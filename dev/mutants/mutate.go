package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// A mutant is one change of the code.
type mutant struct {
	id       int
	file     string // relative to the repository's root
	function string
	line     int
	what     string // such as: condition turned round
	text     string // text of the changed code, on one line
	nth      int    // number among mutants with the same function, what and text
}

// name identifies a mutant, and stays the same when lines move.
func (m mutant) name() string {
	name := fmt.Sprintf("%s %s: %s: %s", m.file, m.function, m.what, m.text)
	if m.nth > 0 {
		name += fmt.Sprintf(" (%d)", m.nth+1)
	}
	return name
}

// An instrumented file contains all of its mutants at the same time.
type instrumented struct {
	source  []byte
	mutants []mutant
	inserts []insert
	file    string
	fset    *token.FileSet
	next    *int
	within  string // enclosing function
	seen    map[string]int
}

// An insert puts text before an offset of the source. At the same offset, closing inserts come
// first, and outer ones open before inner ones.
type insert struct {
	at    int
	text  string
	close bool
	order int
}

// instrument reads a file and makes its code ask which mutant it is.
func instrument(path string, next *int) (code []byte, mutants []mutant, err error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	f := &instrumented{source: source, file: path, fset: token.NewFileSet(), next: next, seen: map[string]int{}}
	tree, err := parser.ParseFile(f.fset, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	for _, declaration := range tree.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		f.within = function.Name.Name
		ast.Inspect(function.Body, f.visit)
	}
	return f.code(), f.mutants, nil
}

func (f *instrumented) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.IfStmt:
		f.turn(n.Cond, "condition turned round")
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, clause := range n.Body.List {
				for _, condition := range clause.(*ast.CaseClause).List {
					f.turn(condition, "case turned round")
				}
			}
		}
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			if isBool(result) {
				f.turn(result, "result turned round")
			}
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	}
	return true
}

// turn negates an expression.
func (f *instrumented) turn(e ast.Expr, what string) {
	f.around(e, "(%s != (", "))", what)
}

// binary drops either side of && and ||, and moves the bound of a comparison.
func (f *instrumented) binary(n *ast.BinaryExpr) {
	switch n.Op {
	case token.LAND:
		f.around(n.X, "(%s || (", "))", "operand of && dropped")
		f.around(n.Y, "(%s || (", "))", "operand of && dropped")
	case token.LOR:
		f.around(n.X, "(!%s && (", "))", "operand of || dropped")
		f.around(n.Y, "(!%s && (", "))", "operand of || dropped")
	case token.LSS, token.GTR, token.LEQ, token.GEQ:
		if !simple(n.X) || !simple(n.Y) {
			return
		}
		same := f.text(n.X) + " == " + f.text(n.Y)
		if n.Op == token.LSS || n.Op == token.GTR {
			f.around(n, "(%[1]s && "+same+" || (", "))", "bound moved")
		} else {
			f.around(n, "(!(%[1]s && "+same+") && (", "))", "bound moved")
		}
	}
}

// statements leaves out calls and assignments.
func (f *instrumented) statements(list []ast.Stmt) {
	for _, statement := range list {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && f.text(call.Fun) != "panic" {
				f.around(s, "if !%s { ", " }", "call left out")
			}
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && f.text(s.Lhs[0]) != "_" {
				f.around(s, "if !%s { ", " }", "assignment left out")
			}
		}
	}
}

// around adds a mutant whose code is placed around a node.
func (f *instrumented) around(node ast.Node, before, after, what string) {
	*f.next++
	id := *f.next
	begin, end := f.offset(node.Pos()), f.offset(node.End())
	text := strings.Join(strings.Fields(string(f.source[begin:end])), " ")
	if len(text) > 90 {
		text = strings.ToValidUTF8(text[:90], "") + "…"
	}
	key := f.within + "\x00" + what + "\x00" + text
	f.mutants = append(f.mutants, mutant{id, filepath.ToSlash(f.file), f.within, f.fset.Position(node.Pos()).Line, what, text, f.seen[key]})
	f.seen[key]++
	order := len(f.inserts)
	f.inserts = append(f.inserts,
		insert{begin, fmt.Sprintf(before, fmt.Sprintf("slipwayMutant(%d)", id)), false, order},
		insert{end, after, true, -order})
}

func (f *instrumented) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *instrumented) text(node ast.Node) string {
	return string(f.source[f.offset(node.Pos()):f.offset(node.End())])
}

// code returns the source with all inserts.
func (f *instrumented) code() []byte {
	sort.SliceStable(f.inserts, func(i, j int) bool {
		a, b := f.inserts[i], f.inserts[j]
		switch {
		case a.at != b.at:
			return a.at < b.at
		case a.close != b.close:
			return a.close
		}
		return a.order < b.order
	})
	var code []byte
	at := 0
	for _, i := range f.inserts {
		code = append(append(code, f.source[at:i.at]...), i.text...)
		at = i.at
	}
	return append(code, f.source[at:]...)
}

// isBool reports whether an expression is a bool, judging by its form alone.
func isBool(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return isBool(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.NOT
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND, token.LOR, token.EQL, token.NEQ, token.LSS, token.GTR, token.LEQ, token.GEQ:
			return true
		}
	case *ast.Ident:
		return e.Name == "true" || e.Name == "false"
	}
	return false
}

// simple reports whether an expression can be evaluated twice.
func simple(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return simple(e.X)
	case *ast.CallExpr:
		name, ok := e.Fun.(*ast.Ident)
		return ok && name.Name == "len" && simple(e.Args[0])
	}
	return false
}
