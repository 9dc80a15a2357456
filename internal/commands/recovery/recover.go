// Package recovery contains the commands for use after an interruption: recover and unlock.
package recovery

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/address"
	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/rescue"
	"slipway/internal/run"
	"slipway/internal/tofu"
)

type options struct {
	from string // folder with the results of the interrupted run; empty: none
	seen string // comma-separated addresses that somebody has looked for in the cloud
}

// Recover makes state and cloud agree after a run was interrupted. It removes the dead run's lock,
// restores a state that could not be written, and imports what was created according to the
// journal. It is safe to repeat.
func Recover() run.Command {
	var o options
	return run.Command{
		Name:  "recover",
		Help:  "make state and cloud agree again after an interrupted run",
		Opens: run.State, ByLayer: true,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&o.from, "from", "", "results of the interrupted run, with a state that could not be stored")
			f.StringVar(&o.seen, "seen", "", "comma-separated addresses that somebody has looked for in the cloud")
		},
		Run: func(ctx context.Context, r *run.Run) error { return recoverAll(ctx, r, o) },
	}
}

func recoverAll(ctx context.Context, r *run.Run, o options) error {
	if r.Store == nil {
		return fault.Refuse("use the tools of the server at "+r.Environment.State.HTTP.Address, "recover needs a state in S3: over HTTP, locks cannot be read")
	}
	layers, err := layer.All(r)
	if err != nil {
		return err
	}
	for _, l := range layers {
		if err := recoverLayer(ctx, l, o); err != nil {
			return err
		}
	}
	return nil
}

func recoverLayer(ctx context.Context, l *layer.Layer, o options) error {
	state := hold.State(l.Run, l.Config)
	others, err := hold.RunsOn(ctx, state)
	if err != nil {
		return err
	}
	lock, err := l.Store.ReadLock(ctx, l.Key)
	if err != nil {
		return err
	}
	lost, err := rescue.List(ctx, l, o.from)
	if err != nil {
		return err
	}
	if len(others.Live)+len(others.Dead)+len(others.Over)+len(lost) == 0 && lock == nil {
		fmt.Fprintf(&l.Report, "%s: nothing was interrupted\n", l.Name)
		return nil
	}
	for _, run := range others.Dead {
		fmt.Fprintf(&l.Report, "%s: %s was interrupted\n", l.Name, hold.DescribeRun(run))
	}
	if lock != nil {
		fmt.Fprintf(&l.Report, "%s: locked by %s\n", l.Name, hold.DescribeLock(lock))
	}
	return hold.Replace(ctx, state, "", func(working context.Context, _ *hold.Hold, others hold.Others) (bool, error) {
		// What is left to recover is in the dead runs' journals, not in ours.
		return true, repair(working, l, others, lost, o.seen)
	})
}

// repair recovers under the lock. The dead runs' journals stay until everything is accounted for, so
// that repair can be repeated and no apply can start.
func repair(ctx context.Context, l *layer.Layer, others hold.Others, lost []rescue.Lost, seen string) error {
	if err := rescue.Restore(ctx, l, lost); err != nil {
		return err
	}
	if len(others.Dead) > 0 {
		if err := l.Init(ctx); err != nil {
			return err
		}
		var entries []journal.Entry
		for _, run := range others.Dead {
			entries = append(entries, run.Entries...)
		}
		open, err := reconcile(ctx, l, journal.Replay(entries))
		if err != nil {
			return err
		}
		if err := settle(l, open, seen); err != nil {
			return err
		}
	}
	for _, run := range slices.Concat(others.Dead, others.Over) {
		if err := journal.Remove(ctx, l.Store, run); err != nil {
			return err
		}
	}
	return nil
}

// settle refuses to forget resources that are not accounted for, unless names lists all of them.
func settle(l *layer.Layer, open []string, names string) error {
	seen, err := address.Split("--seen", names)
	if err != nil {
		return err
	}
	open = address.Sorted(open)
	var left []string
	for _, address := range open {
		if slices.Contains(seen, address) {
			l.Reportf("%s was confirmed with --seen", address)
			continue
		}
		left = append(left, address)
	}
	if len(left) == 0 {
		return nil
	}
	return fault.Fail(l.Call("recover")+" --seen="+printable.Quoted(strings.Join(open, ","))+"   # when you have looked",
		"cannot account for %d of the resources that were or may have been created: %s. Look for each in the cloud, and delete it there or import it with an import block in the code. Nothing can be applied to %s before you confirm that",
		len(left), strings.Join(left, ", "), l.Name)
}

// reconcile makes the state match the journal. It returns the addresses of resources that were or
// may have been created and are not in the state.
func reconcile(ctx context.Context, l *layer.Layer, outcome journal.Outcome) (open []string, err error) {
	recorded, err := l.Recorded(ctx)
	if err != nil {
		return nil, err
	}
	m := correct(outcome, recorded)
	for _, note := range m.notes {
		l.Reportf("%s", note)
	}
	if err := forget(ctx, l, m.remove...); err != nil {
		return nil, err
	}
	left, err := importAll(ctx, l, m.toImport)
	if err != nil {
		return nil, err
	}
	found, more, unknown, err := searchAll(ctx, l, outcome)
	if err != nil {
		return nil, err
	}
	open, notes := m.end(outcome, found, slices.Concat(left, more), unknown)
	for _, note := range notes {
		l.Reportf("%s", note)
	}
	return open, taintIncomplete(ctx, l, outcome.Created, slices.Concat(outcome.InFlight, found))
}

// A correction is what has to be done to make a state match a journal.
type correction struct {
	remove   []string        // addresses to remove from the state
	toImport []journal.Entry // resources to import into the state
	open     []string        // addresses of created resources that cannot be imported
	notes    []string        // lines for the report
}

// correct compares what was created and deleted with what is in the state.
func correct(outcome journal.Outcome, recorded map[string]*tfjson.StateResource) (m correction) {
	for _, e := range outcome.Deleted {
		if _, ok := recorded[e.Address]; ok {
			m.remove = append(m.remove, e.Address)
			m.notes = append(m.notes, e.Address+" was deleted: removing it from the state")
		}
	}
	for _, e := range outcome.Created {
		resource, ok := recorded[e.Address]
		switch {
		case e.ID == "":
			if !ok {
				m.notes = append(m.notes, e.Address+" was created, but its provider reported no ID for an import")
				m.open = append(m.open, e.Address)
			}
			continue
		case ok && fmt.Sprint(resource.AttributeValues[e.IDKey]) == e.ID:
			continue
		case ok: // the state has the old object that it replaced
			m.remove = append(m.remove, e.Address)
		}
		m.toImport = append(m.toImport, e)
	}
	return m
}

// end returns the addresses that are still open after the correction: everything that could not be
// imported or was not found.
func (m correction) end(outcome journal.Outcome, found, left []journal.Entry, unknown []string) (open, notes []string) {
	open = m.open
	for _, e := range left {
		notes = append(notes, fmt.Sprintf("%s was created, but could not be imported into the state: its %s is %s", e.Address, e.IDKey, e.ID))
		open = append(open, e.Address)
	}
	open = append(open, unknown...)
	if len(outcome.InFlight)+len(m.toImport)+len(m.remove)+len(found)+len(open) == 0 {
		notes = append(notes, "everything that was created is in the state")
	}
	return open, notes
}

// forget removes addresses from the state.
func forget(ctx context.Context, l *layer.Layer, addresses ...string) error {
	if len(addresses) == 0 {
		return nil
	}
	return l.Tofu(ctx, "state rm", tofu.StateRemoveArgs(addresses...)...)
}
