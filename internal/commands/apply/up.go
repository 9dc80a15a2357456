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
	"slipway/internal/rollout"
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

// A stage is a part of up.
type stage struct {
	name   string
	repeat string    // the command that runs only this stage
	opens  run.Opens // what it needs opened

	// without says in a few words why there is nothing to do; empty: there is. nil: there always is.
	without func(*upRun) string
	// run returns what it did, in a few words.
	run func(context.Context, *upRun) (string, error)
}

// stages are those of up, in order. One of the hosts may be the bastion through which the nodes of a cluster are reached.
var stages = []stage{
	{name: "bootstrap", repeat: "bootstrap", opens: run.Credentials, run: prepare},
	{name: "apply", repeat: "apply", opens: run.State, run: applyLayers},
	{name: "wait", repeat: "status", opens: run.State, without: noHosts, run: await},
	{name: "cluster", repeat: "cluster apply", opens: run.State, without: noCluster, run: applyCluster},
	{name: "deploy", repeat: "deploy", opens: run.State, without: noPlaybook, run: deploy},
	{name: "verify", repeat: "verify", opens: run.State, without: noChecks, run: check},
}

// A stageRow is a line of the closing table.
type stageRow struct {
	name, result, next string
	seconds            float64
}

func up(ctx context.Context, r *run.Run) error {
	u := &upRun{Run: r, opened: run.Credentials}
	var rows []stageRow
	var failed error
	for _, s := range stages {
		if failed != nil {
			rows = append(rows, stageRow{name: s.name, result: "not run"})
			continue
		}
		r.Say("%s …", run.Word(s.name))
		begin := time.Now()
		result, err := u.do(ctx, s)
		row := stageRow{name: s.name, result: result, seconds: time.Since(begin).Seconds()}
		if err != nil {
			failed = err
			row.result, row.next = "failed", nextStep(err, "dagger call "+s.repeat+" --env="+r.Env)
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
	opened  run.Opens
	made    made
	cluster *clusterPart
}

// do opens what a stage needs, and runs it if there is something to do.
func (u *upRun) do(ctx context.Context, s stage) (string, error) {
	if s.opens > u.opened {
		if err := u.OpenStore(ctx); err != nil {
			return "", err
		}
		u.opened = s.opens
	}
	if s.without != nil {
		if why := s.without(u); why != "" {
			return why, nil
		}
	}
	return s.run(ctx, u)
}

func prepare(ctx context.Context, u *upRun) (string, error) {
	if u.Store == nil {
		return "already there", nil
	}
	_, err := u.Store.Read(ctx, u.MarkerKey())
	if errors.Is(err, state.ErrNone) {
		return "done", bootstrap(ctx, u.Run)
	}
	return "already there", err
}

func applyLayers(ctx context.Context, u *upRun) (_ string, err error) {
	if u.cluster, err = openCluster(u.Run, options{}); err != nil {
		return "", err
	}
	if u.made, err = applyAll(ctx, u.Run, u.cluster, options{}); err != nil {
		return "", err
	}
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

func noCluster(u *upRun) string {
	if u.cluster == nil {
		return "no cluster"
	}
	return ""
}

// applyCluster configures the nodes, and begins the etcd of a new cluster.
func applyCluster(ctx context.Context, u *upRun) (string, error) {
	c := u.cluster
	if err := c.findNodes(ctx, u.made); err != nil {
		return "", err
	}
	if err := c.roll(ctx, rollout.Configure, rollout.Change, rollout.Bootstrap); err != nil {
		return "", err
	}
	if n := len(u.Result.Nodes); n > 0 {
		return fmt.Sprintf("%d changed", n), nil
	}
	return "no change", nil
}

func noHosts(u *upRun) string {
	if len(u.made.hosts()) == 0 {
		return "no hosts"
	}
	return ""
}

func await(ctx context.Context, u *upRun) (string, error) {
	return "up", hosts.Await(ctx, u.Run, u.made.hosts())
}

func noPlaybook(u *upRun) string {
	if u.Environment.Deploy == nil {
		return "no playbook"
	}
	return ""
}

func deploy(ctx context.Context, u *upRun) (string, error) {
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
	changed := 0 // tasks, as in the table of the hosts
	for _, h := range u.Result.Hosts {
		changed += h.Changed
	}
	return fmt.Sprintf("%d changed", changed), nil
}

func noChecks(u *upRun) string {
	if len(verify.Harmless(u.Environment.Verify)) == 0 {
		return "no checks"
	}
	return ""
}

// check runs the checks that disturb nobody.
func check(ctx context.Context, u *upRun) (string, error) {
	checks := verify.Harmless(u.Environment.Verify)
	v := &verify.Verifier{Run: u.Run, Settings: u.Environment.Verify}
	return fmt.Sprintf("%d passed", len(checks)), v.All(ctx, checks)
}
