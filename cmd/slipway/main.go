// Command slipway is the stage runner: the one program inside a stage's
// container that runs the tools. The Dagger module in ci/ calls it; people call
// the module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"slipway/internal/pins"
	"slipway/internal/toolchain"
)

const usage = `usage: slipway STAGE [FLAGS]

  version             print the version of this program
  toolchain --pins F  run every tool and compare its version with the pins in F

exit codes: 0 done, 1 refused or failed, 3 bad input
`

// version is set by the linker in a published build.
var version = "dev"

// Exit codes of every stage that does not end well.
const (
	exitFailed   = 1
	exitBadInput = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// An inputError is bad input: its reader mends it by the hint.
type inputError struct{ message, hint string }

func (e *inputError) Error() string { return e.message }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "slipway: error: %v\n", err)
	var input *inputError
	if errors.As(err, &input) {
		fmt.Fprintf(stderr, "slipway: hint: %s\n", input.hint)
		return exitBadInput
	}
	return exitFailed
}

func dispatch(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return &inputError{"no stage is named", "slipway --help"}
	}
	switch stage, rest := args[0], args[1:]; stage {
	case "version":
		fmt.Fprintln(stdout, "slipway "+version)
		return nil
	case "toolchain":
		return runToolchain(ctx, rest, stdout)
	case "-h", "-help", "--help", "help":
		fmt.Fprint(stdout, usage)
		return nil
	default:
		return &inputError{fmt.Sprintf("unknown stage %q", stage), "slipway --help"}
	}
}

func runToolchain(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("toolchain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	path := flags.String("pins", "", "the pins file")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || *path == "" {
		return &inputError{fmt.Sprintf("toolchain takes --pins and a file, not %q", args), "slipway toolchain --pins ci/pins.env"}
	}
	f, err := os.Open(*path)
	if err != nil {
		return &inputError{err.Error(), "slipway toolchain --pins ci/pins.env"}
	}
	defer f.Close()
	list, err := pins.Read(f)
	if err != nil {
		return &inputError{fmt.Sprintf("%s: %v", *path, err), "git diff ci/pins.env"}
	}
	rows, err := toolchain.Compare(ctx, os.DirFS("/"), list)
	if err != nil {
		return err
	}
	if err := toolchain.Write(stdout, rows); err != nil {
		return err
	}
	for _, r := range rows {
		if !r.OK() {
			return fmt.Errorf("%s is not what the pins say", r.Tool)
		}
	}
	return nil
}
