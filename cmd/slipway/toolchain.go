package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"slipway/internal/fault"
	"slipway/internal/pins"
	"slipway/internal/toolchain"
)

// checkToolchain runs every tool and prints its version beside its pin. It fails if a version is
// not the pinned one.
func checkToolchain(ctx context.Context, args []string, stdout io.Writer) error {
	const usage = "slipway toolchain --pins ci/pins.env"
	flags := flag.NewFlagSet("toolchain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	path := flags.String("pins", "", "the pins file")
	where := flags.String("container", toolchain.Tofu, "the container that this is: tofu or ansible")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 || *path == "" || *where != toolchain.Tofu && *where != toolchain.Ansible {
		return fault.Refuse(usage, "toolchain takes --pins and a file, and --container=tofu or ansible, not %q", args)
	}
	list, err := pins.ReadFile(*path)
	if os.IsNotExist(err) {
		return fault.Refuse(usage, "%v", err)
	}
	if err != nil {
		return fault.Refuse("git diff ci/pins.env", "%v", err)
	}
	rows, err := toolchain.Compare(ctx, os.DirFS("/"), list, *where)
	if err != nil {
		return err
	}
	if err := toolchain.Write(stdout, rows); err != nil {
		return err
	}
	for _, r := range rows {
		if !r.OK() {
			return fmt.Errorf("%s does not match its pin", r.Tool)
		}
	}
	return nil
}
