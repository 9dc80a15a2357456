package checks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"slipway/internal/confine"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// Lint looks for mistakes that tofu itself does not detect.
func Lint() run.Command {
	return run.Command{Name: "lint", Help: "look for mistakes that OpenTofu itself does not detect, with tflint", Run: lint}
}

func lint(ctx context.Context, r *run.Run) error {
	if err := workspace.Prepare(r); err != nil {
		return err
	}
	cmd := confine.Command(ctx, "tflint", "--recursive", "--no-color", "--format=compact", "--chdir="+r.Path("repository"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.Path("home"), "TMPDIR=" + r.Path("tmp")}
	var out tofu.Capture
	cmd.Stdout, cmd.Stderr = &out, &out
	err := confine.Run(cmd)
	r.Report.WriteString(printable.Terminal(out.String()))
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return errors.New("tflint found problems")
	case err != nil:
		return fmt.Errorf("run tflint: %w", err)
	}
	r.Report.WriteString("tflint found no problems\n")
	return nil
}
