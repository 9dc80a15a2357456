package checks

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"slipway/internal/fault"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// Test runs the tests of every module that has tests.
func Test() run.Command {
	return run.Command{Name: "test", Help: "run the tests of the modules", Run: testModules}
}

func testModules(ctx context.Context, r *run.Run) error {
	if err := workspace.Prepare(r); err != nil {
		return err
	}
	modules, err := modulesWithTests(r.Path("repository"))
	if err != nil {
		return err
	}
	if len(modules) == 0 {
		return fault.Refuse("$EDITOR modules/<name>/tests/<what>.tftest.hcl", "no module has a test")
	}
	var failures []string
	for _, dir := range modules {
		ok, err := testModule(ctx, r, dir)
		if err != nil {
			return err
		}
		if !ok {
			failures = append(failures, dir)
		}
	}
	if len(failures) > 0 {
		return fmt.Errorf("tests failed in %s", strings.Join(failures, ", "))
	}
	return nil
}

// modulesWithTests returns the folders, relative to the repository's root, of modules with tests
// beside their code or in a folder named tests.
func modulesWithTests(repository string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := entry.Name()
		if !strings.HasSuffix(name, ".tftest.hcl") && !strings.HasSuffix(name, ".tofutest.hcl") {
			return nil
		}
		dir, err := filepath.Rel(repository, filepath.Dir(path))
		if filepath.Base(dir) == "tests" {
			dir = filepath.Dir(dir)
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return err
	})
	return dirs, err
}

func testModule(ctx context.Context, r *run.Run, dir string) (bool, error) {
	var printed tofu.Capture
	tool := workspace.Bare(r, dir, &printed)
	if ok, err := initAlone(ctx, r, tool, &printed, dir); !ok {
		return false, err
	}
	passed, failed := 0, 0
	code, err := tool.Events(ctx, func(e tofu.Event) {
		switch e.Type {
		case tofu.DiagnosticMsg:
			fmt.Fprintf(&r.Report, "%s: %s\n", dir, tofu.Explain(e.Diagnostic))
		case tofu.TestRun:
			fmt.Fprintf(&r.Report, "%s: %s %s\n", dir, printable.Terminal(e.TestRun.Run), e.TestRun.Status)
			if e.TestRun.Status == "pass" {
				passed++
			} else {
				failed++
			}
		}
	}, func([]byte) {}, tofu.ModuleTestArgs()...)
	if err != nil {
		return false, err
	}
	// tofu prints "Success!" even if it could not clean up after a test.
	if _, err := os.Stat(r.Path("repository", dir, "errored_test.tfstate")); err == nil {
		fmt.Fprintf(&r.Report, "%s: a test created resources that could not be destroyed\n", dir)
		failed++
	}
	fmt.Fprintf(&r.Report, "%s: %d passed, %d failed\n", dir, passed, failed)
	return code == tofu.ExitOK && failed == 0 && passed > 0, nil
}
