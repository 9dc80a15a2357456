package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"slipway/internal/fault"
	"slipway/internal/flux"
	"slipway/internal/hosts"
	"slipway/internal/kubernetes"
	"slipway/internal/playbook"
	"slipway/internal/reconcile"
	"slipway/internal/rollout"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/verify"
)

// Up takes an environment from nothing to running and checked. It skips what is already done.
func Up() run.Command {
	return run.Command{
		Name: "up", Help: "take an environment from nothing to running: layers, cluster, deploy and checks",
		Opens: run.Credentials, Run: up,
	}
}

// A stage is a part of up.
type stage struct {
	name   string
	repeat string    // the command that runs only this stage
	opens  run.Opens // what it needs opened

	// needed reports whether the environment has this stage. nil: each has.
	needed func(*upRun) bool
	// run returns what it did, in a few words.
	run func(context.Context, *upRun) (string, error)
}

// stages are those of up, in order. One of the hosts may be the bastion through which the nodes of a cluster are reached.
var stages = []stage{
	{name: "bootstrap", repeat: "bootstrap", opens: run.Credentials, run: prepare},
	{name: "apply", repeat: "apply", opens: run.State, run: applyLayers},
	{name: "wait", repeat: "status", opens: run.State, needed: hasHosts, run: await},
	{name: "cluster", repeat: "cluster apply", opens: run.State, needed: hasCluster, run: applyCluster},
	{name: "deploy", repeat: "deploy", opens: run.State, needed: hasPlaybook, run: deploy},
	{name: "health", repeat: "cluster health", opens: run.State, needed: hasCluster, run: awaitHealth},
	{name: "flux", repeat: "flux install", opens: run.State, needed: hasFlux, run: installFlux},
	{name: "verify", repeat: "verify", opens: run.State, needed: hasChecks, run: check},
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
		row, err := u.do(ctx, s)
		if row != nil {
			rows = append(rows, *row)
		}
		failed = err
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
	flux    *reconcile.Installer // nil: none
}

// do opens what a stage needs and runs it. It returns no row if the environment does not have the stage.
func (u *upRun) do(ctx context.Context, s stage) (*stageRow, error) {
	begin := time.Now()
	row := &stageRow{name: s.name}
	err := u.open(ctx, s.opens)
	if err == nil {
		if s.needed != nil && !s.needed(u) {
			return nil, nil
		}
		u.Say("%s …", run.Word(s.name))
		row.result, err = s.run(ctx, u)
	}
	if err != nil {
		row.result, row.next = "failed", nextStep(err, "dagger call "+s.repeat+" --env="+u.Env)
	}
	row.seconds = time.Since(begin).Seconds()
	u.Say("%s: %s (%.1f s)", run.Word(s.name), run.Word(row.result), row.seconds)
	return row, err
}

// open opens what a stage needs, unless an earlier one did.
func (u *upRun) open(ctx context.Context, opens run.Opens) error {
	if opens <= u.opened {
		return nil
	}
	err := u.OpenStore(ctx)
	if err == nil {
		u.opened = opens
	}
	return err
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
	if u.flux, err = reconcile.Read(u.Run); err != nil && !errors.Is(err, flux.ErrNone) {
		return "", err // before a layer is changed
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

func hasCluster(u *upRun) bool { return u.cluster != nil }

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

// healthPatience covers the images that a new node pulls.
const healthPatience = 10 * time.Minute

// awaitHealth comes after the playbook, which may install the CNI without which no node gets ready.
func awaitHealth(ctx context.Context, u *upRun) (string, error) {
	return fmt.Sprintf("%d ready", len(u.cluster.Spec.Nodes)), u.cluster.AwaitHealth(ctx, healthPatience)
}

func hasFlux(u *upRun) bool { return u.flux != nil }

func installFlux(ctx context.Context, u *upRun) (string, error) {
	c, err := kubernetes.Of(ctx, u.cluster.Cluster)
	if err != nil {
		return "", err
	}
	if err := u.flux.Install(ctx, c); err != nil {
		return "", err
	}
	if n := u.flux.Changed(); n > 0 {
		return fmt.Sprintf("%d changed", n), nil
	}
	return "no change", nil
}

func hasHosts(u *upRun) bool { return len(u.made.hosts()) > 0 }

func await(ctx context.Context, u *upRun) (string, error) {
	return "up", hosts.Await(ctx, u.Run, u.made.hosts())
}

func hasPlaybook(u *upRun) bool { return u.Environment.Deploy != nil }

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

func hasChecks(u *upRun) bool { return len(verify.Harmless(u.Environment.Verify)) > 0 }

// check runs the checks that disturb nobody.
func check(ctx context.Context, u *upRun) (string, error) {
	checks := verify.Harmless(u.Environment.Verify)
	v := &verify.Verifier{Run: u.Run, Settings: u.Environment.Verify}
	return fmt.Sprintf("%d passed", len(checks)), v.All(ctx, checks)
}
