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
	"slipway/internal/refusal"
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

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "slipway: error: %v\n", err)
	var input *refusal.Error
	if errors.As(err, &input) {
		fmt.Fprintf(stderr, "slipway: hint: %s\n", input.Hint)
		return exitBadInput
	}
	return exitFailed
}

func dispatch(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return refusal.New("slipway --help", "no stage is named")
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
		return refusal.New("slipway --help", "unknown stage %q", stage)
	}
}

func runToolchain(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("toolchain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	path := flags.String("pins", "", "the pins file")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || *path == "" {
		return refusal.New("slipway toolchain --pins ci/pins.env", "toolchain takes --pins and a file, not %q", args)
	}
	f, err := os.Open(*path)
	if err != nil {
		return refusal.New("slipway toolchain --pins ci/pins.env", "%v", err)
	}
	defer f.Close()
	list, err := pins.Read(f)
	if err != nil {
		return refusal.New("git diff ci/pins.env", "%s: %v", *path, err)
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
