// Package recovery has the commands for after an interruption: recover and unlock.
package recovery

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/address"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/refusal"
	"slipway/internal/rescue"
	"slipway/internal/run"
	"slipway/internal/tofu"
)

type options struct {
	from string // folder of the results of the interrupted run; empty: none
	seen string // addresses that somebody has looked for in the cloud, with commas between
}

// Recover brings state and cloud together again after a run was interrupted. It takes away the
// lock of the dead run, puts back a state that could not be written, and imports what the journal
// says was created. It is safe to repeat.
func Recover() run.Command {
	var o options
	return run.Command{
		Name:  "recover",
		Help:  "bring state and cloud together again after an interrupted run",
		Opens: run.State,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&o.from, "from", "", "results of the interrupted run, for a state that the store did not take")
			f.StringVar(&o.seen, "seen", "", "addresses that somebody has looked for in the cloud, with commas between")
		},
		Run: func(ctx context.Context, r *run.Run) error { return recoverAll(ctx, r, o) },
	}
}

func recoverAll(ctx context.Context, r *run.Run, o options) error {
	if r.Store == nil {
		return refusal.New("use the tools of the server at "+r.Environment.State.HTTP.Address, "recover needs a state in S3: over HTTP, locks cannot be read")
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
	others, err := hold.RunsOn(ctx, l)
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
	working, h, err := hold.Alone(ctx, l)
	if err != nil {
		return err
	}
	if err = hold.Release(ctx, l, ""); err == nil {
		err = h.Acquire(ctx)
	}
	if err == nil {
		err = mend(working, l, lost, o.seen)
	}
	// What is left to be recovered is in the journals of the dead, and not in ours.
	return errors.Join(err, hold.Stopped(working), h.End(ctx, true))
}

// mend recovers under the lock. Until all is accounted for, the journals of the dead stay:
// it can be repeated, and no apply begins.
func mend(ctx context.Context, l *layer.Layer, lost []rescue.Lost, seen string) error {
	// Looked at again: now nobody else takes journals away.
	others, err := hold.RunsOn(ctx, l)
	if err != nil {
		return err
	}
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

// settle refuses to forget what is not accounted for, unless Seen names it: all of it.
func settle(l *layer.Layer, open []string, names string) error {
	seen, err := address.Split("--seen", names)
	if err != nil {
		return err
	}
	open = address.Sorted(open)
	var left []string
	for _, address := range open {
		if slices.Contains(seen, address) {
			l.Reportf("%s has been seen to", address)
			continue
		}
		left = append(left, address)
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%d of what was made or begun is not accounted for: %s. Look for each in the cloud; delete it there, or take it in by an import block in the code. Until this command names them all, nothing is applied to %s: %s --seen=%s",
		len(left), strings.Join(left, ", "), l.Name, l.Call("recover"), printable.Quoted(strings.Join(open, ",")))
}

// reconcile makes the state say what the journal says. It returns the addresses of what was
// made, or may have been, and is not in the state.
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
	left, err := importAll(ctx, l, m.adopt)
	if err != nil {
		return nil, err
	}
	found, unknown, err := searchAll(ctx, l, outcome)
	if err != nil {
		return nil, err
	}
	more, err := importAll(ctx, l, found)
	if err != nil {
		return nil, err
	}
	open, notes := m.end(outcome, found, slices.Concat(left, more), unknown)
	for _, note := range notes {
		l.Reportf("%s", note)
	}
	return open, taintIncomplete(ctx, l, outcome.Created, slices.Concat(outcome.InFlight, found))
}

// A correction is what makes a state say what a journal says.
type correction struct {
	remove []string        // addresses that are to be taken out of the state
	adopt  []journal.Entry // what is to be taken into it
	open   []string        // addresses of what was made, and cannot be taken in
	notes  []string        // for the report
}

// correct holds what was made and deleted against what is in the state.
func correct(outcome journal.Outcome, recorded map[string]*tfjson.StateResource) (m correction) {
	for _, e := range outcome.Deleted {
		if _, ok := recorded[e.Address]; ok {
			m.remove = append(m.remove, e.Address)
			m.notes = append(m.notes, e.Address+" was deleted, and is taken out of the state")
		}
	}
	for _, e := range outcome.Created {
		resource, ok := recorded[e.Address]
		switch {
		case e.ID == "":
			if !ok {
				m.notes = append(m.notes, e.Address+" was made, and its provider tells no ID to import it by")
				m.open = append(m.open, e.Address)
			}
			continue
		case ok && fmt.Sprint(resource.AttributeValues[e.IDKey]) == e.ID:
			continue
		case ok: // what it replaced
			m.remove = append(m.remove, e.Address)
		}
		m.adopt = append(m.adopt, e)
	}
	return m
}

// end says what is still open, by address, when the correction is done: what was left of all
// that was to be taken in, and what a search did not find.
func (m correction) end(outcome journal.Outcome, found, left []journal.Entry, unknown []string) (open, notes []string) {
	open = m.open
	for _, e := range left {
		notes = append(notes, fmt.Sprintf("%s was made, and could not be taken into the state: its %s is %s", e.Address, e.IDKey, e.ID))
		open = append(open, e.Address)
	}
	open = append(open, unknown...)
	if len(outcome.InFlight)+len(m.adopt)+len(m.remove)+len(found)+len(open) == 0 {
		notes = append(notes, "the state holds all that was made")
	}
	return open, notes
}

// forget takes addresses out of the state.
func forget(ctx context.Context, l *layer.Layer, addresses ...string) error {
	if len(addresses) == 0 {
		return nil
	}
	return l.Tofu(ctx, "state rm", tofu.StateRemoveArgs(addresses...)...)
}
