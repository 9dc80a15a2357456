// Package run is the frame of every command: it opens what the command needs, runs it, and writes a
// result. Nothing decrypted leaves the process unless it is masked or encrypted.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/journal"
	"slipway/internal/printable"
	"slipway/internal/secrets"
	"slipway/internal/state"
)

// Options are shared by all commands.
type Options struct {
	Env       string   // folder below environments/; empty: none, or all
	OnlyLayer string   // empty: all
	ID        string   // unique ID of the run
	Args      []string // of a tool that the command runs

	Repository   string // read-only
	Work         string // a tmpfs, the only place for plaintext files
	Out          string // receives result.json, summary.md and encrypted files
	IdentityFile string // file with the age identity
	PinsFile     string // lists the images of this container; optional

	Deadline  time.Duration // time after which the tools are stopped gracefully; 0: none
	Beat      journal.Beat  // heartbeat of the journal; zero: the default
	DeadAfter time.Duration // silence after which a run is considered dead; 0: the default

	Stdout io.Writer // receives the report
	Stderr io.Writer // receives the progress
}

// A Run is one running command.
type Run struct {
	Options
	Begun   time.Time
	Result  Result
	Report  Page // for the console and the summary
	Mask    *Mask
	Changed bool // there are changes: the exit code is Changes

	// What was opened, as the command's Opens says.
	Environment *environment.Environment
	Identity    secrets.Identity
	Recipients  []string // age recipients who can read the environment's own credentials
	Credentials map[string]string
	Store       *state.Store // nil: the state is behind HTTP

	Inputs string // digest of all files that the tools can read, and of the credentials; workspace.Prepare sets it

	// Complaints are the tools' own error messages, and logs of services. They go to the console and into no file.
	Complaints strings.Builder

	command Command
}

// New returns a run of a command. Outside of tests, use Main.
func New(c Command, o Options) *Run {
	r := &Run{Options: o, Begun: time.Now(), Mask: NewMask(), command: c}
	r.Result = Result{Version: 1, Stage: c.Name, Environment: o.Env, RunID: o.ID}
	r.DeadAfter = cmp.Or(r.DeadAfter, journal.DeadAfter)
	r.Beat = cmp.Or(r.Beat, journal.DefaultBeat)
	return r
}

// Main runs a command and returns its exit code. It always writes a result.
func Main(ctx context.Context, c Command, o Options) int {
	r := New(c, o)
	if o.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Deadline)
		defer cancel()
	}
	secrets.LogTo(console{r})
	err := r.refuseInput()
	if err == nil {
		err = r.work(ctx)
	}
	if ctx.Err() != nil {
		hint := ""
		if e, ok := fault.Of(err); ok {
			hint = e.Hint
		}
		err = errors.Join(fault.New(fault.Interrupted, hint, "the run was stopped before it finished"), err)
	}
	return r.End(err)
}

// work opens what the command needs and runs it.
func (r *Run) work(ctx context.Context) error {
	err := r.Open(ctx)
	switch {
	case err == nil:
		return r.command.Run(ctx, r)
	case r.command.Unopened != nil:
		return r.command.Unopened(ctx, r, err)
	}
	return err
}

// Open opens what the command needs. Main calls it.
func (r *Run) Open(ctx context.Context) error {
	switch r.command.Opens {
	case Credentials:
		return r.Timed("open", r.OpenCredentials)
	case State:
		return r.Timed("open", func() error {
			if err := r.OpenCredentials(); err != nil {
				return err
			}
			return r.OpenStore(ctx)
		})
	}
	return nil
}

// A Word is never masked in a line of progress, even if a secret has the same text: one of our or
// OpenTofu's words, or a name from the repository.
type Word string

// Say prints a line of progress. Its arguments are masked; its format is not.
func (r *Run) Say(format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			if !r.isName(arg) {
				args[i] = r.Mask.String(arg)
			}
		case error:
			args[i] = r.Mask.String(arg.Error())
		case fmt.Stringer:
			args[i] = r.Mask.String(arg.String())
		}
	}
	fmt.Fprint(r.Stderr, printable.Log(fmt.Sprintf(format+"\n", args...)))
}

// isName reports whether a text is the name of the environment or one of its layers.
func (r *Run) isName(text string) bool {
	return text == r.Env || slices.ContainsFunc(r.Result.Layers, func(l *LayerResult) bool { return l.Name == text })
}

// A console receives the logs of libraries and prints them masked, as progress.
type console struct{ *Run }

func (c console) Write(p []byte) (int, error) {
	_, err := io.WriteString(c.Stderr, printable.Terminal(c.Mask.String(string(p))))
	return len(p), err
}

// Timed runs a step and records how long it took.
func (r *Run) Timed(step string, f func() error) error {
	begin := time.Now()
	err := f()
	r.Result.Timings = append(r.Result.Timings, Timing{step, seconds(time.Since(begin))})
	return err
}

// Path joins names below the work folder.
func (r *Run) Path(names ...string) string {
	return filepath.Join(append([]string{r.Work}, names...)...)
}

// CallOn returns the command that runs a stage on one layer, for a hint: another one that works on
// single layers, or this run's own.
func (r *Run) CallOn(stage, layer string) string {
	command := "dagger call " + stage + " --env=" + r.Env
	if len(r.Environment.Layers) > 1 && (stage != r.Result.Stage || r.command.ByLayer) {
		command += " --layer=" + layer
	}
	return command
}

// Confirmed refuses to continue unless given, the value of --confirm, is the environment's name.
func (r *Run) Confirmed(given, why string) error {
	if given == r.Env {
		return nil
	}
	command := fmt.Sprintf("dagger call %s --env=%s --confirm=%s", r.Result.Stage, r.Env, r.Env)
	if given != "" {
		return fault.Refuse(command, "--confirm is %q, not the environment's name, %s", given, r.Env)
	}
	return fault.Refuse(command, "%s", why)
}
