package checks

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

// A check whose tool cannot be started has found nothing out: it fails, and says so.
func TestChecksNotStarted(t *testing.T) {
	testkit.WithoutTofu(t)
	for name, c := range map[string]struct {
		command     func() run.Command
		environment string
		test        bool // there is a module with a test
		want        string
	}{
		"the form":          {command: Fmt, want: "tofu was not started: fmt"},
		"one environment":   {command: Validate, environment: "test", want: "tofu was not started: init"},
		"all environments":  {command: Validate, want: "tofu was not started: init"},
		"none of that name": {command: Validate, environment: "none", want: `there is no environment "none"`},
		"no tests":          {command: Test, want: "no module has a test"},
		"a test":            {command: Test, test: true, want: "tofu was not started: init"},
		"mistakes":          {command: Lint, want: "run tflint: "},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.WithCode("")
			d.Environment, d.Env = nil, ""
			command := c.command()
			var flags []string
			if c.environment != "" {
				flags = append(flags, "--env="+c.environment)
			}
			must.Do(t, command.Parse(flags, &run.Options{}))
			if c.test {
				must.Do(t, os.WriteFile(filepath.Join(d.Repository, "environments/test/net/net.tftest.hcl"), nil, 0o600))
			}
			if err := command.Run(t.Context(), d.Run); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if text := d.Text(); text != "" {
				t.Errorf("it says %q", text)
			}
			d.Nowhere()
			if err := command.Run(t.Context(), d.Run); err == nil || errors.Is(err, tofu.ErrNotStarted) {
				t.Errorf("nowhere: %v", err)
			}
		})
	}
	d := testkit.New(t)
	d.WithCode("")
	d.Env, d.Repository = "", t.TempDir()
	must.Refuse(t, validate(t.Context(), d.Run, ""), "environment", "")
}

// Code that would run what its environment does not allow is refused before it is checked.
func TestValidateRefuses(t *testing.T) {
	testkit.WithoutTofu(t)
	d := testkit.New(t)
	d.WithCode("")
	must.Do(t, os.WriteFile(filepath.Join(d.Repository, "environments/test/main.tf"), []byte("data \"external\" \"x\" {\n  program = [\"id\"]\n}\n"), 0o600))
	must.Refuse(t, validate(t.Context(), d.Run, ""), "external", "")
}

// A module with tests is listed once, whether the tests are beside its code or in its folder tests.
func TestModulesWithTests(t *testing.T) {
	repository := t.TempDir()
	if dirs, err := modulesWithTests(repository); err != nil || len(dirs) > 0 {
		t.Errorf("%q, %v", dirs, err)
	}
	for _, name := range []string{
		"modules/a/tests/one.tftest.hcl", "modules/a/tests/two.tofutest.hcl", "modules/b/b.tftest.hcl", "modules/c/c.tofutest.hcl",
		"modules/none/main.tf", "modules/none/tests/notes.hcl", "modules/none/folder.tftest.hcl/x", "tests/own.tftest.hcl",
	} {
		path := filepath.Join(repository, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, nil, 0o600))
	}
	dirs, err := modulesWithTests(repository)
	if err != nil || !slices.Equal(dirs, []string{"modules/a", "modules/b", "modules/c", "."}) {
		t.Errorf("%q, %v", dirs, err)
	}
	if dirs, err := modulesWithTests(filepath.Join(repository, "nowhere")); err == nil {
		t.Errorf("of no repository: %q", dirs)
	}
}
