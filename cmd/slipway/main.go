// Command slipway is the stage runner: the program inside a container that runs the tools. The
// Dagger module in ci/ calls it; people call the module.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"slipway/internal/confine"
	"slipway/internal/fault"
	"slipway/internal/run"
)

// version is set by the linker in a published build.
var version = "dev"

func main() {
	if err := confine.Self(); err != nil {
		os.Exit(complain(os.Stderr, err))
	}
	// One signal stops the tools gracefully. Further signals have no effect.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(start(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// start runs the command in args and returns its exit code.
func start(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return complain(stderr, fault.Refuse("slipway --help", "no command was given"))
	}
	name, rest := args[0], args[1:]
	switch name {
	case "version":
		fmt.Fprintln(stdout, "slipway "+version)
		return run.Done
	case "toolchain":
		return complain(stderr, checkToolchain(ctx, rest, stdout))
	case "connect":
		return complain(stderr, connect(ctx, rest, os.Stdin, stdout))
	case "-h", "-help", "--help", "help":
		help(stdout)
		return run.Done
	}
	c, ok := find(name)
	if !ok {
		return complain(stderr, fault.Refuse("slipway --help", "unknown command %q", name))
	}
	if len(rest) == 1 && (rest[0] == "-h" || rest[0] == "--help") {
		c.Usage(stdout)
		return run.Done
	}
	options := run.Options{Stdout: stdout, Stderr: stderr}
	if err := c.Parse(rest, &options); err != nil {
		return complain(stderr, err)
	}
	return run.Main(ctx, c, options)
}

func help(w io.Writer) {
	fmt.Fprint(w, "usage: slipway COMMAND [FLAGS]\n\n")
	row := func(name, text string) { fmt.Fprintf(w, "  %-20s %s\n", name, text) }
	row("version", "print the version of slipway")
	row("toolchain", "run every tool and compare its version with the pins")
	row("connect", "connect standard input and output to a port, through an HTTP proxy: ssh runs it")
	fmt.Fprint(w, "\nand the commands on a repository, which write result.json and summary.md to /out:\n\n")
	for _, f := range commands {
		c := f()
		row(c.Name, c.Help)
	}
	fmt.Fprint(w, "\nslipway COMMAND --help lists its flags.\n"+
		"exit codes: 0 done, 1 failed, 2 done and there are changes, 3 bad input, 4 a part is done\n")
}

// complain prints an error, if there is one, and returns the exit code.
func complain(stderr io.Writer, err error) int {
	if err == nil {
		return run.Done
	}
	fmt.Fprintf(stderr, "slipway: error: %v\n", err)
	if e, ok := fault.Of(err); ok && e.Hint != "" {
		fmt.Fprintf(stderr, "slipway: hint: %s\n", e.Hint)
	}
	return run.ExitCode(err)
}
