package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"slipway/internal/confine"
	"slipway/internal/environment"
	"slipway/internal/refusal"
	"slipway/internal/tofu"
)

// The checks need no secret and no state: they run on every pull request.

// format names the files whose form is not the standard one.
func (s *Run) format(ctx context.Context) error {
	if err := s.Prepare(); err != nil {
		return err
	}
	var noise ToolOutput
	tool := s.Bare(s.Path("repository"), &noise)
	files, code, err := tool.Output(ctx, tofu.FmtArgs()...)
	if err != nil {
		return err
	}
	s.Report.WriteString(string(files))
	if code == tofu.ExitOK {
		s.Report.WriteString("every file has the standard form\n")
		return nil
	}
	if len(files) == 0 {
		return fmt.Errorf("tofu fmt failed: %s", strings.TrimSpace(plain(noise.String())))
	}
	return refusal.New("tofu fmt -recursive", "%d files have not the standard form", bytes.Count(files, []byte("\n")))
}

// validate checks every root module, or those of one environment.
func (s *Run) validate(ctx context.Context) error {
	names := []string{s.Env}
	if s.Env == "" {
		var err error
		if names, err = environment.List(os.DirFS(s.Repository)); err != nil {
			return err
		}
	}
	if err := s.Prepare(); err != nil {
		return err
	}
	var failures []string
	for _, name := range names {
		e, err := environment.Load(os.DirFS(s.Repository), name)
		if err != nil {
			return err
		}
		for _, layer := range e.Layers {
			if err := s.RefuseForeign(e, e.Dir(layer)); err != nil {
				return err
			}
			ok, err := s.validateRoot(ctx, e, e.Dir(layer))
			if err != nil {
				return err
			}
			if !ok {
				failures = append(failures, e.Dir(layer))
			}
		}
	}
	if len(failures) > 0 {
		return fmt.Errorf("not valid: %s", strings.Join(failures, ", "))
	}
	return nil
}

func (s *Run) validateRoot(ctx context.Context, e *environment.Environment, dir string) (bool, error) {
	var noise ToolOutput
	tool := s.Bare(s.Path("repository", dir), &noise)
	if ok, err := s.initAlone(ctx, tool, &noise, dir); !ok {
		return false, err
	}
	if err := s.RefuseFetched(e, tool.Dir, filepath.Join(tool.Dir, ".terraform")); err != nil {
		return false, err
	}
	data, _, err := tool.Output(ctx, tofu.ValidateArgs()...)
	if err != nil {
		return false, err
	}
	var reply struct {
		Valid       bool              `json:"valid"`
		Diagnostics []tofu.Diagnostic `json:"diagnostics"`
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return false, fmt.Errorf("tofu validate in %s: %s", dir, strings.TrimSpace(plain(noise.String())))
	}
	for _, d := range reply.Diagnostics {
		fmt.Fprintf(&s.Report, "%s: %s\n", dir, explain(d))
	}
	if reply.Valid {
		fmt.Fprintf(&s.Report, "%s: valid\n", dir)
	}
	return reply.Valid, nil
}

// initAlone prepares a module without its state. Beside an error it is not ok.
func (s *Run) initAlone(ctx context.Context, tool tofu.Runner, noise *ToolOutput, dir string) (bool, error) {
	code, err := tool.Run(ctx, noise, tofu.Init{NoBackend: true}.Args()...)
	if err != nil || code == tofu.ExitOK {
		return err == nil, err
	}
	fmt.Fprintf(&s.Report, "%s: %s\n", dir, strings.TrimSpace(plain(noise.String())))
	return false, nil
}

// test runs the tests of every module that has some.
func (s *Run) test(ctx context.Context) error {
	if err := s.Prepare(); err != nil {
		return err
	}
	modules, err := modulesWithTests(s.Path("repository"))
	if err != nil {
		return err
	}
	if len(modules) == 0 {
		return refusal.New("$EDITOR modules/<name>/tests/<what>.tftest.hcl", "no module has a test")
	}
	var failures []string
	for _, dir := range modules {
		ok, err := s.testModule(ctx, dir)
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

// modulesWithTests are the folders, from the repository's root, of modules that
// have tests beside them or in their folder tests.
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

func (s *Run) testModule(ctx context.Context, dir string) (bool, error) {
	var noise ToolOutput
	tool := s.Bare(s.Path("repository", dir), &noise)
	if ok, err := s.initAlone(ctx, tool, &noise, dir); !ok {
		return false, err
	}
	passed, failed := 0, 0
	code, err := tool.Events(ctx, func(e tofu.Event) {
		switch e.Type {
		case tofu.DiagnosticMsg:
			fmt.Fprintf(&s.Report, "%s: %s\n", dir, explain(e.Diagnostic))
		case tofu.TestRun:
			fmt.Fprintf(&s.Report, "%s: %s %s\n", dir, plain(e.TestRun.Run), e.TestRun.Status)
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
	// tofu says "Success!" also when it could not clean up behind a test.
	if _, err := os.Stat(s.Path("repository", dir, "errored_test.tfstate")); err == nil {
		fmt.Fprintf(&s.Report, "%s: a test left something behind that could not be taken away\n", dir)
		failed++
	}
	fmt.Fprintf(&s.Report, "%s: %d passed, %d failed\n", dir, passed, failed)
	return code == tofu.ExitOK && failed == 0 && passed > 0, nil
}

// lint looks for mistakes that tofu itself does not see.
func (s *Run) lint(ctx context.Context) error {
	if err := s.Prepare(); err != nil {
		return err
	}
	cmd := confine.Command(ctx, "tflint", "--recursive", "--no-color", "--format=compact", "--chdir="+s.Path("repository"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Path("home"), "TMPDIR=" + s.Path("tmp")}
	var out ToolOutput
	cmd.Stdout, cmd.Stderr = &out, &out
	err := confine.Run(cmd)
	s.Report.WriteString(plain(out.String()))
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return errors.New("tflint has found something")
	case err != nil:
		return fmt.Errorf("run tflint: %w", err)
	}
	s.Report.WriteString("tflint has found nothing\n")
	return nil
}

// Bare is a tofu that knows no secret.
func (s *Run) Bare(dir string, noise *ToolOutput) tofu.Runner {
	return tofu.Runner{Dir: dir, Stderr: noise, Env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.Path("home"), "TMPDIR=" + s.Path("tmp"),
		"TF_CLI_CONFIG_FILE=/dev/null", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
	}}
}
