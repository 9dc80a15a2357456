// Package stage runs one stage on one environment: it reads the environment and
// its credentials, starts the tools, and leaves a result. Nothing decrypted
// leaves the process but by way of the redactor, or sealed.
package stage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/manifest"
	"slipway/internal/openstack"
	"slipway/internal/printable"
	"slipway/internal/refusal"
	"slipway/internal/report"
	"slipway/internal/secrets"
	"slipway/internal/state"
)

// Options say what to run on what.
type Options struct {
	Env       string
	OnlyLayer string // only this one; empty: all
	ID        string
	Confirm   string // the environment's name, where a stage asks for it
	LockID    string // of the lock that unlock takes away though nobody is known to be dead
	From      string // folder of an earlier run's /out, for recover
	Seen      string // recover: addresses that somebody has looked for, with commas between

	Commit       string        // plan: the commit of the files, for the manifest
	Base         string        // plan: the commit that they are to be merged into
	Keep         bool          // plan: keep the sealed plan in the state's bucket
	PlanLifetime time.Duration // plan: after which it can no longer be applied
	PinsFile     string        // file that names the images of this container; it need not be there
	PlanFolder   string        // apply: folder of an earlier plan's /out
	Digest       string        // apply, approve: of the plan that was reviewed
	SigningKey   string        // approve: file of the reviewer's private SSH key
	Signature    string        // approve: file of a signature that ssh-keygen made
	Reviewed     bool          // apply: the plan that is kept in the state's bucket for these files
	Host         string        // ssh: its name, where there are several
	AllowDestroy string        // apply, destroy: the addresses that a protected environment may lose

	Secrets SecretsOptions // of the secrets stages
	GitHub  GitHubOptions  // of the stages that write to GitHub

	Repository   string // the repository; it is only read
	Work         string // a tmpfs, the one place where plaintext may touch a file
	Out          string // receives result.json, summary.md and what is sealed
	IdentityFile string // file of the age identity

	Deadline  time.Duration // after which tofu is stopped as if asked to
	Beat      journal.Beat  // of the signs of life; the default without it
	DeadAfter time.Duration // silence by which a run is taken to be dead; the default without it

	Stdout io.Writer `json:"-"` // receives the report
	Stderr io.Writer `json:"-"` // receives the progress
}

// Exit codes of every stage.
const (
	Done     = 0 // done, or nothing to change
	Failed   = 1 // refused or failed
	Changes  = 2 // done, and there are changes
	BadInput = 3 // refused before anything changed; the hint says the next command
)

// A Result is what /out/result.json holds.
type Result struct {
	Version     int            `json:"version"` // 1
	Stage       string         `json:"stage"`
	Environment string         `json:"environment,omitempty"`
	RunID       string         `json:"run_id,omitempty"`
	ExitCode    int            `json:"exit_code"`
	Status      string         `json:"status"` // done, changes, failed or refused
	Layers      []*LayerResult `json:"layers,omitempty"`
	Digest      string         `json:"digest,omitempty"` // of a plan
	Error       string         `json:"error,omitempty"`
	Hint        string         `json:"hint,omitempty"` // the exact next command
	Seconds     float64        `json:"seconds"`
	Timings     []Timing       `json:"timings,omitempty"`
}

// A LayerResult is what became of one.
type LayerResult struct {
	Name    string         `json:"name"`
	Changes map[string]int `json:"changes"` // by action, such as create; without those of which there are none
	Outputs int            `json:"outputs"` // how many change
	Applied bool           `json:"applied"`
}

// A Timing says how long a step took.
type Timing struct {
	Step    string  `json:"step"`
	Seconds float64 `json:"seconds"`
}

// stages are all that there are, by name.
var stages = map[string]func(*Run, context.Context) error{
	"up":                 (*Run).up,
	"bootstrap":          (*Run).bootstrap,
	"plan":               (*Run).plan,
	"apply":              (*Run).apply,
	"approve":            (*Run).approve,
	"destroy":            (*Run).destroy,
	"down":               (*Run).down,
	"output":             (*Run).output,
	"state-list":         (*Run).stateList,
	"unlock":             (*Run).unlock,
	"recover":            (*Run).recover,
	"report":             (*Run).comment,
	"drift":              (*Run).drift,
	"drift-issues":       (*Run).driftIssues,
	"status":             (*Run).status,
	"start":              (*Run).start,
	"ssh":                (*Run).ssh,
	"stop":               (*Run).stop,
	"environments":       (*Run).environments,
	"fmt":                (*Run).format,
	"validate":           (*Run).validate,
	"lint":               (*Run).lint,
	"lock-providers":     (*Run).lockProviders,
	"test":               (*Run).test,
	"secrets-check":      (*Run).secretsCheck,
	"secrets-init":       (*Run).secretsInit,
	"secrets-set":        (*Run).secretsSet,
	"secrets-edit":       (*Run).secretsEdit,
	"secrets-rotate":     (*Run).secretsRotate,
	"secrets-updatekeys": (*Run).secretsUpdateKeys,
}

// Names lists the stages.
func Names() []string {
	var names []string
	for name := range stages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Main runs the stage called name and returns its exit code. Whatever happens, it
// leaves a result.
func Main(ctx context.Context, name string, o Options) int {
	s := &Run{Options: o, Begun: time.Now(), Mask: NewMask()}
	s.Result = Result{Version: 1, Stage: name, Environment: o.Env, RunID: o.ID}
	s.DeadAfter = cmp.Or(s.DeadAfter, journal.DeadAfter)
	s.Beat = cmp.Or(s.Beat, journal.DefaultBeat)
	if o.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Deadline)
		defer cancel()
	}
	secrets.LogTo(logs{s})
	err := s.RefuseInput()
	if err == nil {
		err = stages[name](s, ctx)
	}
	if ctx.Err() != nil {
		err = errors.Join(errors.New("the run was stopped before it had finished"), err)
	}
	return s.End(err)
}

// A Run is one run of a stage.
type Run struct {
	Options
	Begun  time.Time
	Result Result
	Report Page // for the console and the summary

	Environment *environment.Environment
	Identity    secrets.Identity
	Recipients  []string // who can read the environment's credentials
	Credentials map[string]string
	Store       *state.Store // nil: the state is behind HTTP
	Inputs      string       // digest of all that tofu can read
	Tools       func() (map[string]string, error)
	layers      []report.Layer // that were planned
	sealed      []manifest.Part
	openstack   *openstack.Cloud

	// What tools said of their failures, for the console only: it is no part of the
	// files that are kept.
	Complaints strings.Builder

	Mask
	Changes bool
}

// Say tells of progress. What it is told is masked, and not its own words.
func (s *Run) Say(format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) { // a name is none of these, and stays as it is
		case string:
			if !s.isName(arg) {
				args[i] = s.redactor.String(arg)
			}
		case error:
			args[i] = s.redactor.String(arg.Error())
		case fmt.Stringer:
			args[i] = s.redactor.String(arg.String())
		}
	}
	fmt.Fprint(s.Stderr, printable.Log(fmt.Sprintf(format+"\n", args...)))
}

// logs is where libraries write what they think of: the console, masked.
type logs struct{ *Run }

func (l logs) Write(p []byte) (int, error) {
	_, err := io.WriteString(l.Stderr, plain(l.redactor.String(string(p))))
	return len(p), err
}

// isName says that a text is the name of the environment or of one of its layers.
func (s *Run) isName(text string) bool {
	return text == s.Env || slices.ContainsFunc(s.Result.Layers, func(l *LayerResult) bool { return l.Name == text })
}

// A name is a word of ours, of OpenTofu's or of the repository's, which is not
// masked though a secret may be called the same.
type name string

// Timed runs a step and notes how long it took.
func (s *Run) Timed(step string, f func() error) error {
	begin := time.Now()
	err := f()
	s.Result.Timings = append(s.Result.Timings, Timing{step, seconds(time.Since(begin))})
	return err
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// End writes the result and the report.
func (s *Run) End(err error) int {
	r := &s.Result
	var input *refusal.Error
	switch {
	case errors.As(err, &input):
		r.ExitCode, r.Status, r.Hint = BadInput, "refused", input.Hint
	case err != nil:
		r.ExitCode, r.Status = Failed, "failed"
	case s.Changes:
		r.ExitCode, r.Status = Changes, "changes"
	default:
		r.ExitCode, r.Status = Done, "done"
	}
	if err != nil {
		r.Error, r.Hint = printable.Log(err.Error()), printable.Log(r.Hint)
	}
	r.Seconds = seconds(time.Since(s.Begun))
	s.Publish()
	r.Error, r.Hint = s.redactor.String(r.Error), s.redactor.String(r.Hint)
	text := s.Report.Masked(s.redactor.String)
	fmt.Fprint(s.Stdout, printable.Log(text+s.redactor.String(s.Complaints.String())))
	if err := s.write(text); err != nil {
		fmt.Fprintf(s.Stderr, "slipway: error: %v\n", err)
		if r.ExitCode != BadInput {
			r.ExitCode = Failed
		}
	}
	if r.Error != "" {
		fmt.Fprint(s.Stderr, "slipway: error: "+r.Error+"\n")
	}
	if r.Hint != "" {
		fmt.Fprint(s.Stderr, "slipway: hint: "+r.Hint+"\n")
	}
	return r.ExitCode
}

// write leaves result.json and summary.md. What text and the error hold is masked
// already, and so is each field of the view: a mask over the whole would also hide
// names of fields and of actions where a secret is called so.
func (s *Run) write(text string) error {
	if err := os.MkdirAll(s.Out, 0o755); err != nil {
		return err
	}
	r := s.Result
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	summary := s.summary(text)
	if r.Stage == "plan" {
		view := s.view()
		summary = report.Markdown(report.Report{Environments: []report.Environment{view}}, summaryRoom)
		names, err := json.MarshalIndent(view, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(s.Out, summaryName), append(names, '\n'), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.Out, "result.json"), append(data, '\n'), 0o644),
		os.WriteFile(filepath.Join(s.Out, "summary.md"), []byte(summary), 0o644),
	)
}

// summaryRoom is how many bytes of a summary GitHub takes in a comment.
const summaryRoom = 65536

// summary is the report of a stage as Markdown.
func (s *Run) summary(text string) string {
	r := s.Result
	title := r.Stage
	if r.Environment != "" {
		title += " of " + r.Environment
	}
	summary := fmt.Sprintf("## %s: %s\n\n", title, r.Status)
	if text != "" {
		summary += report.Block(strings.Split(strings.TrimSpace(text), "\n"), summaryRoom/2)
	}
	if r.Error != "" {
		summary += "\n" + report.Block(strings.Split(r.Error, "\n"), summaryRoom/4)
	}
	return summary
}
