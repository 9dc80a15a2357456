package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program has one of each kind of mutant, and prints something else with each.
const program = `package main

import "fmt"

func and(a, b bool) bool { return a && !b }

func or(a, b bool) bool { return a || b }

func few(list []int) bool { return len(list) <= 2 && len(list) > 0 }

func less(a, b int) int {
	if a < b {
		return -1
	}
	switch {
	case a >= 2*b, b == 0:
		return 2
	}
	return 1
}

func filled() (list []int) {
	add := func(n int) { list = append(list, n) }
	add(1)
	add(1)
	return list
}

func main() {
	for _, a := range []bool{false, true} {
		fmt.Print(and(a, false), and(a, true), or(a, false), or(a, true))
	}
	n := 0
	n = less(1, 2)
	fmt.Print(n, less(2, 2), less(3, 2), less(4, 0), less(0, 0), " ")
	list := filled()
	fmt.Print(list, few(list), few(list[:0]), few(append(list, 3)))
}
`

// instrumentText returns the code of a file with that text, and its mutants.
func instrumentText(t *testing.T, text string) (string, []mutant) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	next := 0
	code, mutants, err := instrument(file, &next)
	if err != nil || next != len(mutants) {
		t.Fatalf("%d mutants of %d, %v", len(mutants), next, err)
	}
	for i, m := range mutants {
		if m.id != i+1 {
			t.Errorf("mutant %d is %d", i+1, m.id)
		}
	}
	return string(code), mutants
}

// The program does the same as long as no mutant is chosen, and each mutant does
// something else.
func TestInstrument(t *testing.T) {
	code, mutants := instrumentText(t, program)
	build := func(name string, files map[string]string) string {
		dir := t.TempDir()
		files["go.mod"] = "module example\n\ngo 1.24\n"
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		binary := filepath.Join(dir, name)
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, code)
		}
		return binary
	}
	run := func(binary string, chosen int) string {
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Env = append(os.Environ(), fmt.Sprintf("SLIPWAY_MUTANT=%d", chosen))
		out, err := cmd.CombinedOutput()
		return fmt.Sprint(string(out), err)
	}
	want := run(build("plain", map[string]string{"main.go": program}), 0)
	binary := build("all", map[string]string{"main.go": code, "chooser.go": fmt.Sprintf(chooser, "main")})
	if got := run(binary, 0); got != want {
		t.Errorf("without a mutant: got %s, want %s", got, want)
	}
	for _, m := range mutants {
		if got := run(binary, m.id); got == want {
			t.Errorf("%s: it prints the same: %s", m.name(), got)
		}
	}
}

// Each mutant has a name of its own, which lines that are put in between do not change.
func TestNames(t *testing.T) {
	names := func(text string) (list []string) {
		_, mutants := instrumentText(t, text)
		for _, m := range mutants {
			_, name, _ := strings.Cut(m.name(), "main.go ")
			list = append(list, name)
		}
		return list
	}
	got := names(program)
	want := []string{
		"and: result turned round: a && !b",
		"and: operand of && dropped: a",
		"and: operand of && dropped: !b",
		"or: result turned round: a || b",
		"or: operand of || dropped: a",
		"or: operand of || dropped: b",
		"few: result turned round: len(list) <= 2 && len(list) > 0",
		"few: operand of && dropped: len(list) <= 2",
		"few: operand of && dropped: len(list) > 0",
		"few: bound moved: len(list) <= 2",
		"few: bound moved: len(list) > 0",
		"less: condition turned round: a < b",
		"less: bound moved: a < b",
		"less: case turned round: a >= 2*b",
		"less: case turned round: b == 0",
		"filled: call left out: add(1)",
		"filled: call left out: add(1) (2)",
		"filled: assignment left out: list = append(list, n)",
		"main: assignment left out: n = less(1, 2)",
		`main: call left out: fmt.Print(n, less(2, 2), less(3, 2), less(4, 0), less(0, 0), " ")`,
		"main: call left out: fmt.Print(list, few(list), few(list[:0]), few(append(list, 3)))",
		"main: call left out: fmt.Print(and(a, false), and(a, true), or(a, false), or(a, true))",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if moved := names(strings.ReplaceAll(program, "func ", "// More.\n\nfunc ")); !slices.Equal(moved, got) {
		t.Errorf("with more lines:\n%s", strings.Join(moved, "\n"))
	}
	long := names("package main\n\nfunc main() { println(\"" + strings.Repeat("é", 80) + "\") }\n")
	if len(long) != 1 || !strings.HasSuffix(long[0], "é…") || strings.Contains(long[0], "\ufffd") {
		t.Errorf("got %q", long)
	}
}

// Each target exists, and one that does not is an error.
func TestTargets(t *testing.T) {
	for _, target := range targets {
		if err := target.check("../.."); err != nil {
			t.Error(err)
		}
	}
	for want, target := range map[string]target{
		"there is no package internal/none":                     {packages: []string{"internal/plan", "internal/none"}},
		"there is no package cmd/none":                          {packages: []string{"internal/plan"}, also: []string{"cmd/none"}},
		"there is no file values.go in internal/plan":           {packages: []string{"internal/plan"}, files: []string{"value.go", "values.go"}},
		"there is no file read.go in internal/hold cmd/slipway": {packages: []string{"internal/hold", "cmd/slipway"}, files: []string{"read.go"}},
	} {
		if err := target.check("../.."); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
