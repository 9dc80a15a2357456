// Package checks contains the commands that need no secret and no state: environments, fmt,
// validate, lint and test. They run on every pull request, also from forks.
package checks

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"slipway/internal/environment"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// Validate checks the code of every root module, or of those of one environment.
func Validate() run.Command {
	var env string
	return run.Command{
		Name: "validate",
		Help: "check the code of every environment, or of one",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&env, "env", "", "folder below environments/; empty: all")
		},
		Run: func(ctx context.Context, r *run.Run) error { return validate(ctx, r, env) },
	}
}

func validate(ctx context.Context, r *run.Run, env string) error {
	chosen, err := environment.LoadChosen(os.DirFS(r.Repository), env)
	if err != nil {
		return err
	}
	if err := workspace.Prepare(r); err != nil {
		return err
	}
	var failures []string
	for _, e := range chosen {
		for _, layer := range e.Layers {
			if err := workspace.RefuseForeign(r, e, e.Dir(layer)); err != nil {
				return err
			}
			ok, err := validateModule(ctx, r, e, e.Dir(layer))
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

func validateModule(ctx context.Context, r *run.Run, e *environment.Environment, dir string) (bool, error) {
	var printed tofu.Capture
	tool := workspace.Bare(r, dir, &printed)
	if ok, err := initAlone(ctx, r, tool, &printed, dir); !ok {
		return false, err
	}
	if err := workspace.RefuseFetched(r, e, tool.Dir, filepath.Join(tool.Dir, ".terraform")); err != nil {
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
		return false, fmt.Errorf("tofu validate in %s: %s", dir, strings.TrimSpace(printable.Terminal(printed.String())))
	}
	for _, d := range reply.Diagnostics {
		fmt.Fprintf(&r.Report, "%s: %s\n", dir, tofu.Explain(d))
	}
	if reply.Valid {
		fmt.Fprintf(&r.Report, "%s: valid\n", dir)
	}
	return reply.Valid, nil
}

// initAlone prepares a module without its state. It never returns true together with an error.
func initAlone(ctx context.Context, r *run.Run, tool tofu.Runner, printed *tofu.Capture, dir string) (bool, error) {
	code, err := tool.Run(ctx, printed, tofu.Init{NoBackend: true}.Args()...)
	if err != nil {
		return false, err
	}
	if code == tofu.ExitOK {
		return true, nil
	}
	fmt.Fprintf(&r.Report, "%s: %s\n", dir, strings.TrimSpace(printable.Terminal(printed.String())))
	return false, nil
}
