package run

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"slipway/internal/refusal"
)

// A Command is one that the runner has.
type Command struct {
	Name string
	Help string // one line, without a full stop

	Opens Opens
	// Reads says that the command changes nothing but what is kept beside the states. It
	// opens the credentials that environment.yaml has for a plan.
	Reads bool

	Flags func(*flag.FlagSet)               // of its own; nil: none
	Run   func(context.Context, *Run) error // on what is open

	// Unopened is called instead of Run with the error of what could not be opened; nil: the error
	// ends the run.
	Unopened func(context.Context, *Run, error) error

	// Summary makes summary.md out of the report; nil: the report.
	Summary func(*Run) (string, error)
}

// Opens says what a command needs opened before it runs.
type Opens int

const (
	Nothing     Opens = iota // not even an environment
	Credentials              // the environment and its credentials; no server is asked
	State                    // and the store of its states, which proves to be its own
)

// Parse reads the command line of a command: the flags that all share into o, and its own.
func (c Command) Parse(args []string, o *Options) error {
	flags := c.flags(o)
	if err := flags.Parse(args); err != nil {
		return refusal.New("slipway "+c.Name+" --help", "%s: %v", c.Name, err)
	}
	if flags.NArg() > 0 {
		return refusal.New("slipway "+c.Name+" --help", "%s takes no argument %q", c.Name, flags.Arg(0))
	}
	if o.ID == "" {
		o.ID = time.Now().UTC().Format("20060102-150405.000000")
	}
	return nil
}

// Usage prints the command's help.
func (c Command) Usage(w io.Writer) {
	fmt.Fprintf(w, "usage: slipway %s [FLAGS]\n\n%s\n\n", c.Name, c.Help)
	flags := c.flags(&Options{})
	flags.SetOutput(w)
	flags.PrintDefaults()
}

func (c Command) flags(o *Options) *flag.FlagSet {
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.ID, "run-id", "", "unique name of this run")
	flags.StringVar(&o.Repository, "repo", "/repo", "the repository, which is only read")
	flags.StringVar(&o.Work, "work", "/work", "a tmpfs, the only place where plaintext may touch a file")
	flags.StringVar(&o.Out, "out", "/out", "receives the result")
	flags.StringVar(&o.IdentityFile, "identity", "/run/secrets/age-identity", "file of the age identity")
	flags.StringVar(&o.PinsFile, "pins", "/run/pins.env", "pins file with the images of this container")
	flags.DurationVar(&o.Deadline, "deadline", 55*time.Minute, "time after which the tools are stopped gently")
	if c.Opens != Nothing {
		flags.StringVar(&o.Env, "env", "", "folder below environments/")
		flags.StringVar(&o.OnlyLayer, "layer", "", "only this layer")
	}
	if c.Flags != nil {
		c.Flags(flags)
	}
	return flags
}
