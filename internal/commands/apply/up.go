package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"slipway/internal/fault"
	"slipway/internal/hosts"
	"slipway/internal/playbook"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/verify"
)

// Up takes an environment from nothing to running and checked. It skips what is already done.
func Up() run.Command {
	return run.Command{
		Name: "up", Help: "take an environment from nothing to running: bootstrap, apply, deploy and verify",
		Opens: run.Credentials, Run: up,
	}
}

// A stage is a part of up. It returns what it did, in a few words.
type stage struct {
	name string
	run  func(context.Context) (string, error)
	next string // command that runs only this stage
}

// A stageRow is a line of the closing table.
type stageRow struct {
	name, result, next string
	seconds            float64
}

func up(ctx context.Context, r *run.Run) error {
	u := &upRun{Run: r}
	stages := []stage{
		{"bootstrap", u.bootstrap, "dagger call bootstrap --env=" + r.Env},
		{"apply", u.apply, "dagger call apply --env=" + r.Env},
		{"wait", u.wait, "dagger call status --env=" + r.Env},
		{"deploy", u.deploy, "dagger call deploy --env=" + r.Env},
		{"verify", u.verify, "dagger call verify --env=" + r.Env},
	}
	var rows []stageRow
	var failed error
	for _, s := range stages {
		if failed != nil {
			rows = append(rows, stageRow{name: s.name, result: "not run"})
			continue
		}
		r.Say("%s …", run.Word(s.name))
		begin := time.Now()
		result, err := s.run(ctx)
		row := stageRow{name: s.name, result: result, seconds: time.Since(begin).Seconds()}
		if err != nil {
			failed = err
			row.result, row.next = "failed", nextStep(err, s.next)
		}
		rows = append(rows, row)
		r.Say("%s: %s (%.1f s)", run.Word(s.name), run.Word(row.result), row.seconds)
	}
	r.Report.WriteString("\n" + stageTable(rows))
	return failed
}

// nextStep is the hint of an error, or the command that repeats the stage.
func nextStep(err error, repeat string) string {
	if e, ok := fault.Of(err); ok && e.Hint != "" {
		return e.Hint
	}
	return repeat
}

func stageTable(rows []stageRow) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STAGE\tRESULT\tSECONDS\tNEXT STEP")
	for _, row := range rows {
		seconds, next := "-", "-"
		if row.result != "not run" {
			seconds = fmt.Sprintf("%.1f", row.seconds)
		}
		if row.next != "" {
			next = row.next
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row.name, row.result, seconds, next)
	}
	_ = w.Flush() // to memory
	return text.String()
}

// An upRun is a run of up, with what its stages hand on.
type upRun struct {
	*run.Run
	made made
}

func (u *upRun) bootstrap(ctx context.Context) (string, error) {
	result := "already there"
	if u.Store != nil {
		_, err := u.Store.Read(ctx, u.MarkerKey())
		if errors.Is(err, state.ErrNone) {
			result, err = "done", bootstrap(ctx, u.Run)
		}
		if err != nil {
			return "", err
		}
	}
	return result, u.OpenStore(ctx)
}

func (u *upRun) apply(ctx context.Context) (string, error) {
	made, err := applyAll(ctx, u.Run, options{})
	if err != nil {
		return "", err
	}
	u.made = made
	changes := 0
	for _, l := range u.made {
		for _, n := range l.layer.Row.Changes {
			changes += n
		}
	}
	if changes == 0 {
		return "no change", nil
	}
	return fmt.Sprintf("%d changed", changes), nil
}

func (u *upRun) wait(ctx context.Context) (string, error) {
	found := u.made.hosts()
	if len(found) == 0 {
		return "no hosts", nil
	}
	return "up", hosts.Await(ctx, u.Run, found)
}

func (u *upRun) deploy(ctx context.Context) (string, error) {
	if u.Environment.Deploy == nil {
		return "no playbook", nil
	}
	site := playbook.New(u.Run)
	for _, l := range u.made {
		outputs := l.outputs
		if l.layer.Row.Applied { // tofu apply reports no sensitive output
			var err error
			if outputs, err = l.layer.Outputs(ctx); err != nil {
				return "", err
			}
		}
		if err := site.Add(l.layer, outputs); err != nil {
			return "", err
		}
	}
	if err := site.Complete(); err != nil {
		return "", err
	}
	done, err := site.Deploy(ctx, playbook.Options{Log: playbook.LogTasks})
	if done != nil {
		site.Show(done, false)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d changed", len(done.Changes)), nil
}

// verify runs the checks that disturb nobody.
func (u *upRun) verify(ctx context.Context) (string, error) {
	checks := verify.Harmless(u.Environment.Verify)
	if len(checks) == 0 {
		return "no checks", nil
	}
	v := &verify.Verifier{Run: u.Run, Settings: u.Environment.Verify}
	return fmt.Sprintf("%d passed", len(checks)), v.All(ctx, checks)
}
