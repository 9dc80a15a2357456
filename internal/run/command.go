package run

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"slipway/internal/fault"
)

// A Command is one command of the runner.
type Command struct {
	Name string
	Help string // one line, without a full stop

	Opens Opens
	// ByLayer means that the command can work on one layer only.
	ByLayer bool
	// WithCluster means that it also works on the environment's cluster, for which --layer=cluster.yaml stands.
	WithCluster bool
	// Reads means that the command changes nothing but what is stored beside the states. It uses
	// the credentials that environment.yaml has for plans.
	Reads bool

	Flags func(*flag.FlagSet) // the command's own flags; nil: none
	// Arguments says in the help what may follow the flags, after "--". Empty: nothing may.
	Arguments string

	Run func(context.Context, *Run) error // runs with everything opened that Opens says

	// Unopened is called instead of Run, with the error, if something could not be opened; if nil,
	// the error ends the run.
	Unopened func(context.Context, *Run, error) error

	// Summary turns the report into summary.md; if nil, the report is used.
	Summary func(*Run) (string, error)
}

// Opens says what must be opened before a command runs.
type Opens int

const (
	Nothing     Opens = iota // not even an environment
	Credentials              // the environment and its credentials; no server is queried
	State                    // also the store of its states, after checking that it belongs to the environment
)

// Parse parses a command line: the shared flags and the arguments into o, and the command's own flags.
func (c Command) Parse(args []string, o *Options) error {
	flags := c.FlagSet(o)
	if err := flags.Parse(args); err != nil {
		return fault.Refuse("slipway "+c.Name+" --help", "%s: %v", c.Name, err)
	}
	o.Args = flags.Args()
	if len(o.Args) > 0 && c.Arguments == "" {
		return fault.Refuse("slipway "+c.Name+" --help", "%s takes no argument %q", c.Name, flags.Arg(0))
	}
	if o.ID == "" {
		o.ID = time.Now().UTC().Format("20060102-150405.000000")
	}
	return nil
}

// Usage prints the command's help.
func (c Command) Usage(w io.Writer) {
	arguments := ""
	if c.Arguments != "" {
		arguments = " -- " + c.Arguments
	}
	fmt.Fprintf(w, "usage: slipway %s [FLAGS]%s\n\n%s\n\n", c.Name, arguments, c.Help)
	flags := c.FlagSet(&Options{})
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// FlagSet returns the shared flags, which set o, and the command's own.
func (c Command) FlagSet(o *Options) *flag.FlagSet {
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.ID, "run-id", "", "unique name of this run")
	flags.StringVar(&o.Repository, "repo", "/repo", "the repository; read-only")
	flags.StringVar(&o.Work, "work", "/work", "a tmpfs, the only place for plaintext files")
	flags.StringVar(&o.Out, "out", "/out", "folder for the results")
	flags.StringVar(&o.IdentityFile, "identity", "/run/secrets/age-identity", "file with the age identity")
	flags.StringVar(&o.PinsFile, "pins", "/run/pins.env", "pins file with the images of this container")
	flags.DurationVar(&o.Deadline, "deadline", 55*time.Minute, "time after which the tools are stopped gracefully")
	if c.Opens != Nothing {
		flags.StringVar(&o.Env, "env", "", "folder below environments/")
	}
	if c.ByLayer {
		flags.StringVar(&o.OnlyLayer, "layer", "", "only this layer")
	}
	if c.Flags != nil {
		c.Flags(flags)
	}
	return flags
}
