package checks

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"slipway/internal/fault"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/tofu"
	"slipway/internal/workspace"
)

// Fmt lists the files that are not formatted in OpenTofu's standard style.
func Fmt() run.Command {
	return run.Command{Name: "fmt", Help: "list the files that are not in OpenTofu's standard format", Run: checkFormat}
}

func checkFormat(ctx context.Context, r *run.Run) error {
	if err := workspace.Prepare(r); err != nil {
		return err
	}
	var printed tofu.Capture
	tool := workspace.Bare(r, "", &printed)
	files, code, err := tool.Output(ctx, tofu.FmtArgs()...)
	if err != nil {
		return err
	}
	r.Report.WriteString(string(files))
	if code == tofu.ExitOK {
		r.Report.WriteString("every file is in the standard format\n")
		return nil
	}
	if len(files) == 0 {
		return fmt.Errorf("tofu fmt failed: %s", strings.TrimSpace(printable.Terminal(printed.String())))
	}
	return fault.Refuse("tofu fmt -recursive", "%d files are not in the standard format", bytes.Count(files, []byte("\n")))
}
