package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"slipway/internal/clusters"
	"slipway/internal/drift"
	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/layer"
	"slipway/internal/playbook"
	"slipway/internal/printable"
	"slipway/internal/run"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// Drift checks whether the environment still matches its code. A check that fails has found neither
// drift nor its absence, and says so.
func Drift() run.Command {
	return run.Command{
		Name: "drift", Help: "check whether an environment still matches its code",
		Opens: run.State, Reads: true,
		Run: func(ctx context.Context, r *run.Run) error {
			check := newCheck(r)
			return concludeDrift(ctx, r, check, checkDrift(ctx, r, check))
		},
		Unopened: func(ctx context.Context, r *run.Run, err error) error {
			return concludeDrift(ctx, r, newCheck(r), err)
		},
	}
}

func newCheck(r *run.Run) *drift.Check {
	check := &drift.Check{Version: 1, Environment: r.Env, After: 1, Time: r.Begun.UTC().Truncate(time.Second)}
	if r.Environment != nil && r.Environment.Drift != nil {
		check.After = max(1, r.Environment.Drift.After)
	}
	return check
}

func checkDrift(ctx context.Context, r *run.Run, check *drift.Check) error {
	var expected []environment.Ignore
	if d := r.Environment.Drift; d != nil {
		expected = d.Ignore
	}
	site := playbook.New(r)
	var needOutputs []func(*layer.Layer, tofu.Outputs) error
	withHosts := r.Environment.Deploy != nil && r.Environment.Deploy.Drift
	if withHosts {
		needOutputs = append(needOutputs, site.Add)
	}
	var nodes *clusters.Cluster // nil: the environment has no cluster
	if r.HasCluster() {
		var err error
		if nodes, err = clusters.OpenToCompare(r); err != nil {
			return err
		}
		if nodes.NeedsLayers() {
			needOutputs = append(needOutputs, nodes.Add)
		}
	}
	err := layer.Each(ctx, r, func(l *layer.Layer) error {
		if err := hold.NoteRuns(ctx, hold.State(l.Run, l.Config)); err != nil {
			return err
		}
		if err := passOutputs(ctx, l, needOutputs); err != nil {
			return err
		}
		summary, err := l.PlanForDrift(ctx)
		if err != nil {
			return err
		}
		check.Layers = append(check.Layers, drift.Judge(l.Name, summary, expected, check.Time))
		return nil
	})
	if err != nil {
		return err
	}
	// Hosts are checked even if a node does not answer: the findings of both are shown.
	if nodes != nil {
		err = checkCluster(ctx, nodes, expected, check)
	}
	if withHosts {
		err = errors.Join(err, checkHosts(ctx, site, check))
	}
	if err != nil {
		return err
	}
	for _, e := range expected {
		if e.Expired(check.Time) {
			check.Expired = append(check.Expired, e.Address)
		}
	}
	check.Conclude()
	return nil
}

// passOutputs reads the outputs of a layer for those who need them, if any do.
func passOutputs(ctx context.Context, l *layer.Layer, to []func(*layer.Layer, tofu.Outputs) error) error {
	if len(to) == 0 {
		return nil
	}
	outputs, err := l.Outputs(ctx)
	for _, add := range to {
		if err == nil {
			err = add(l, outputs)
		}
	}
	return err
}

// checkCluster asks the nodes without changing anything, or compares their record if this run cannot ask them.
func checkCluster(ctx context.Context, nodes *clusters.Cluster, expected []environment.Ignore, check *drift.Check) (err error) {
	if err := hold.NoteRuns(ctx, hold.Nodes(nodes.Run)); err != nil {
		return err
	}
	check.Cluster, err = nodes.Drift(ctx, expected, check.Time)
	return err
}

// checkHosts runs the playbook without changing anything: a task that would change a host has found
// drift.
func checkHosts(ctx context.Context, site *playbook.Site, check *drift.Check) error {
	if err := site.Complete(); err != nil {
		return err
	}
	done, err := site.Deploy(ctx, playbook.Options{Check: true, Log: playbook.LogPlays})
	if done != nil { // also if one of the hosts is down
		for _, c := range done.Changes {
			check.Hosts = append(check.Hosts, drift.Host{Name: c.Host, Task: c.Task, Item: c.Item})
		}
	}
	return err
}

// concludeDrift counts, shows and saves the result of a check, and the error of a failed one.
func concludeDrift(ctx context.Context, r *run.Run, check *drift.Check, err error) error {
	if err != nil {
		check.Status = drift.Unchecked
		check.Error = err.Error()
		if e, ok := fault.Of(err); ok {
			check.Hint = e.Hint
		}
	}
	// Even for a check that was stopped.
	err = errors.Join(err, countDrift(context.WithoutCancel(ctx), r, check))
	r.Changed = check.Status == drift.Drifted
	masked := check.Masked(r.Mask.String)
	reportDrift(r, masked)
	data, jsonErr := json.MarshalIndent(masked, "", "  ")
	if jsonErr != nil {
		return errors.Join(err, jsonErr)
	}
	return errors.Join(err, r.Leave(drift.FileName, append(data, '\n')))
}

// countDrift records beside the state how many consecutive checks had the same result. If nothing
// can be recorded, an issue opens immediately.
func countDrift(ctx context.Context, r *run.Run, check *drift.Check) error {
	check.Hits = check.After
	if r.Store == nil {
		return nil
	}
	key := "drift/" + r.Env + ".json"
	var before drift.Record
	data, err := r.Store.Read(ctx, key)
	switch {
	case errors.Is(err, state.ErrNone):
	case err != nil:
		return err
	case json.Unmarshal(data, &before) != nil || before.Version != 1:
		before = drift.Record{} // counting starts over
	}
	if data, err = json.Marshal(check.Count(before)); err != nil {
		return err
	}
	return r.Store.Write(ctx, key, data)
}

// reportDrift shows the result.
func reportDrift(r *run.Run, check drift.Check) {
	// Its fields are already masked.
	r.Report.Add(func(func(string) string) string {
		text := fmt.Sprintf("%s: %s\n", r.Env, check.Headline())
		for _, line := range check.Lines() {
			text += "  " + printable.Terminal(strings.ReplaceAll(line, "\n", `\n`)) + "\n"
		}
		return text
	})
}
