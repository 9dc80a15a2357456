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
	"slices"
	"strings"
	"syscall"
	"time"

	"slipway/internal/confine"
	"slipway/internal/pins"
	"slipway/internal/refusal"
	"slipway/internal/stage"
	"slipway/internal/toolchain"
)

const usage = `usage: slipway STAGE [FLAGS]

  version             print the version of this program
  toolchain --pins F  run every tool and compare its version with the pins in F

and the stages on a repository, which leave result.json and summary.md in /out:
  %s

exit codes: 0 done, 1 refused or failed, 2 done and there are changes, 3 bad input

`

// version is set by the linker in a published build.
var version = "dev"

func main() {
	if err := confine.Self(); err != nil {
		os.Exit(complain(os.Stderr, err))
	}
	// One signal stops the tools gently; what comes later changes nothing.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && slices.Contains(stage.Names(), args[0]) {
		options, err := stageOptions(args[0], args[1:])
		if err != nil {
			return complain(stderr, err)
		}
		options.Stdout, options.Stderr = stdout, stderr
		return stage.Run(ctx, args[0], options)
	}
	if err := dispatch(ctx, args, stdout); err != nil {
		return complain(stderr, err)
	}
	return stage.Done
}

func complain(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "slipway: error: %v\n", err)
	var input *refusal.Error
	if errors.As(err, &input) {
		fmt.Fprintf(stderr, "slipway: hint: %s\n", input.Hint)
		return stage.BadInput
	}
	return stage.Failed
}

func dispatch(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return refusal.New("slipway --help", "no stage is named")
	}
	switch name, rest := args[0], args[1:]; name {
	case "version":
		fmt.Fprintln(stdout, "slipway "+version)
		return nil
	case "toolchain":
		return runToolchain(ctx, rest, stdout)
	case "-h", "-help", "--help", "help":
		fmt.Fprintf(stdout, usage, strings.Join(stage.Names(), "\n  "))
		flags, _ := stageFlags("STAGE")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return nil
	default:
		return refusal.New("slipway --help", "unknown stage %q", name)
	}
}

// stageFlags are those that the stages share; each reads what it needs.
func stageFlags(name string) (*flag.FlagSet, *stage.Options) {
	o := &stage.Options{}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Environment, "env", "", "folder below environments/")
	flags.StringVar(&o.Layer, "layer", "", "only this layer")
	flags.StringVar(&o.RunID, "run-id", "", "name of this run, which no other has")
	flags.StringVar(&o.Commit, "commit", "", "plan: the commit of the files, for the manifest")
	flags.StringVar(&o.Base, "base", "", "plan: the commit that they are to be merged into, for the manifest")
	flags.BoolVar(&o.Keep, "keep", false, "plan: keep the sealed plan in the state's bucket")
	flags.DurationVar(&o.PlanLifetime, "plan-lifetime", 7*24*time.Hour, "plan: time after which the sealed plan is refused")
	flags.StringVar(&o.Pins, "pins", "/run/pins.env", "pins file with the images of this container")
	flags.StringVar(&o.Plan, "plan", "", "apply: the /out of an earlier plan, to apply what it sealed")
	flags.BoolVar(&o.Reviewed, "reviewed", false, "apply: the plan that is kept in the state's bucket for these files")
	flags.StringVar(&o.Digest, "digest", "", "apply, approve: digest of the plan that was reviewed: that one and no other")
	flags.StringVar(&o.SigningKey, "signing-key", "/run/secrets/signing-key", "approve: file of the reviewer's private SSH key")
	flags.StringVar(&o.Signature, "signature", "/run/signature", "approve: file of a signature that ssh-keygen made")
	flags.StringVar(&o.AllowDestroy, "allow-destroy", "", "apply, destroy: what a protected environment may lose, addresses with commas between")
	flags.StringVar(&o.Confirm, "confirm", "", "the environment's name, where a stage asks for it")
	flags.StringVar(&o.Host, "host", "", "ssh: the host's name, where there are several")
	flags.StringVar(&o.LockID, "lock-id", "", "unlock: the lock to take away though its holder is not known to be dead")
	flags.StringVar(&o.From, "from", "", "recover: the /out of the run that was interrupted")
	flags.StringVar(&o.Seen, "seen", "", "recover: addresses that somebody has looked for in the cloud, with commas between")
	flags.StringVar(&o.Secrets.File, "file", "", "secrets: file below credentials/")
	flags.StringVar(&o.Secrets.Variable, "variable", "", "secrets-set: the variable")
	flags.StringVar(&o.Secrets.Value, "value", "/run/secrets/value", "secrets-set: file with the value")
	flags.StringVar(&o.Secrets.Content, "content", "/run/secrets/content", "secrets-edit: dotenv file with the variables")
	flags.StringVar(&o.GitHub.Results, "results", "/results", "report, drift-issues: folder with a folder for each environment, the /out of its plan or check")
	flags.Func("envs", "report, drift-issues: environments whose results must be there, with commas between", func(text string) error {
		o.GitHub.Environments = strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
		return nil
	})
	flags.StringVar(&o.GitHub.Context, "github", "/github", "report, drift-issues: folder with env, the GITHUB_ variables of the job, and event.json")
	flags.StringVar(&o.GitHub.Token, "token", "/run/secrets/github-token", "report, drift-issues: file with the token for GitHub")
	flags.BoolVar(&o.GitHub.DryRun, "dry-run", false, "report, drift-issues: print what would be written, and write nothing")
	flags.StringVar(&o.Repository, "repo", "/repo", "the repository, which is only read")
	flags.StringVar(&o.Work, "work", "/work", "a tmpfs, the one place where plain text may touch a file")
	flags.StringVar(&o.Out, "out", "/out", "receives the result")
	flags.StringVar(&o.Identity, "identity", "/run/secrets/age-identity", "file of the age identity")
	flags.DurationVar(&o.Deadline, "deadline", 55*time.Minute, "time after which the tools are stopped gently")
	return flags, o
}

func stageOptions(name string, args []string) (stage.Options, error) {
	flags, o := stageFlags(name)
	if err := flags.Parse(args); err != nil {
		return *o, refusal.New("slipway --help", "%s: %v", name, err)
	}
	if flags.NArg() > 0 {
		return *o, refusal.New("slipway --help", "%s takes no argument %q", name, flags.Arg(0))
	}
	if o.RunID == "" {
		o.RunID = time.Now().UTC().Format("20060102-150405.000000")
	}
	return *o, nil
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
