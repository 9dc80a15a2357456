package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/journal"
	"slipway/internal/printable"
	"slipway/internal/tofu"
)

// recover brings the state and the world together again after a run that was
// interrupted: it takes away the lock of the dead run, puts back a state that
// could not be written, and takes into the state what the journal says was made.
// It is safe to repeat.
func (s *Run) recover(ctx context.Context) error {
	roots, err := s.withStore(ctx)
	if err != nil {
		return err
	}
	for _, r := range roots {
		if err := r.recover(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *Layer) recover(ctx context.Context) error {
	o, err := r.Look(ctx)
	if err != nil {
		return err
	}
	lock, err := r.Store.ReadLock(ctx, r.Key)
	if err != nil {
		return err
	}
	lost, err := r.List(ctx)
	if err != nil {
		return err
	}
	if len(o.Live)+len(o.Dead)+len(o.Over)+len(lost) == 0 && lock == nil {
		fmt.Fprintf(&r.Report, "%s: nothing was interrupted\n", r.Name)
		return nil
	}
	for _, run := range o.Dead {
		fmt.Fprintf(&r.Report, "%s: %s was interrupted\n", r.Name, Describe(run))
	}
	if lock != nil {
		fmt.Fprintf(&r.Report, "%s: locked by %s\n", r.Name, DescribeLock(lock))
	}
	working, h, err := r.Alone(ctx)
	if err != nil {
		return err
	}
	if err = r.release(ctx); err == nil {
		err = h.Acquire(ctx)
	}
	if err == nil {
		err = r.mend(working, lost)
	}
	// What is left to be recovered is in the journals of the dead, and not in ours.
	return errors.Join(err, stopped(working), h.End(ctx, true))
}

// mend recovers under the lock. Until all is accounted for, the journals of the dead stay:
// it can be repeated, and no apply begins.
func (r *Layer) mend(ctx context.Context, lost []Lost) error {
	// Looked at again: now nobody else takes journals away.
	o, err := r.Look(ctx)
	if err != nil {
		return err
	}
	if err := r.Restore(ctx, lost); err != nil {
		return err
	}
	if len(o.Dead) > 0 {
		if err := r.Init(ctx); err != nil {
			return err
		}
		var entries []journal.Entry
		for _, run := range o.Dead {
			entries = append(entries, run.Entries...)
		}
		open, err := r.reconcile(ctx, journal.Take(entries))
		if err != nil {
			return err
		}
		if err := r.settle(open); err != nil {
			return err
		}
	}
	for _, run := range slices.Concat(o.Dead, o.Over) {
		if err := journal.Remove(ctx, r.Store, run); err != nil {
			return err
		}
	}
	return nil
}

// settle refuses to forget what is not accounted for, unless Seen names it: all of it.
func (r *Layer) settle(open []string) error {
	seen, err := splitAddresses("--seen", r.Seen)
	if err != nil {
		return err
	}
	open = sorted(open)
	var left []string
	for _, address := range open {
		if slices.Contains(seen, address) {
			r.Reportf("%s has been seen to", address)
			continue
		}
		left = append(left, address)
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%d of what was made or begun is not accounted for: %s. Look for each in the cloud; delete it there, or take it in by an import block in the code. Until this command names them all, nothing is applied to %s: %s --seen=%s",
		len(left), strings.Join(left, ", "), r.Name, r.Call("recover"), printable.Quoted(strings.Join(open, ",")))
}

// reconcile makes the state say what the journal says. It returns the addresses of what was
// made, or may have been, and is not in the state.
func (r *Layer) reconcile(ctx context.Context, account journal.Account) (open []string, err error) {
	recorded, err := r.Recorded(ctx)
	if err != nil {
		return nil, err
	}
	m := mendingOf(account, recorded)
	for _, note := range m.notes {
		r.Reportf("%s", note)
	}
	if err := r.forget(ctx, m.remove...); err != nil {
		return nil, err
	}
	left, err := r.takeIn(ctx, m.takeIn)
	if err != nil {
		return nil, err
	}
	found, unknown, err := r.search(ctx, account)
	if err != nil {
		return nil, err
	}
	more, err := r.takeIn(ctx, found)
	if err != nil {
		return nil, err
	}
	open, notes := m.end(account, found, slices.Concat(left, more), unknown)
	for _, note := range notes {
		r.Reportf("%s", note)
	}
	return open, r.makeAnew(ctx, account.Made, slices.Concat(account.InFlight, found))
}

// A mending is what makes a state say what a journal says.
type mending struct {
	remove []string        // addresses that are to be taken out of the state
	takeIn []journal.Entry // what is to be taken into it
	open   []string        // addresses of what was made, and cannot be taken in
	notes  []string        // for the report
}

// mendingOf holds what was made and deleted against what is in the state.
func mendingOf(account journal.Account, recorded map[string]*tfjson.StateResource) (m mending) {
	for _, e := range account.Gone {
		if _, ok := recorded[e.Address]; ok {
			m.remove = append(m.remove, e.Address)
			m.notes = append(m.notes, e.Address+" was deleted, and is taken out of the state")
		}
	}
	for _, e := range account.Made {
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
		m.takeIn = append(m.takeIn, e)
	}
	return m
}

// end says what is still open, by address, when the mending is done: what was left of all
// that was to be taken in, and what a search did not find.
func (m mending) end(account journal.Account, found, left []journal.Entry, unknown []string) (open, notes []string) {
	open = m.open
	for _, e := range left {
		notes = append(notes, fmt.Sprintf("%s was made, and could not be taken into the state: its %s is %s", e.Address, e.IDKey, e.ID))
		open = append(open, e.Address)
	}
	open = append(open, unknown...)
	if len(account.InFlight)+len(m.takeIn)+len(m.remove)+len(found)+len(open) == 0 {
		notes = append(notes, "the state holds all that was made")
	}
	return open, notes
}

// forget takes addresses out of the state.
func (r *Layer) forget(ctx context.Context, addresses ...string) error {
	if len(addresses) == 0 {
		return nil
	}
	return r.Tofu(ctx, "state rm", tofu.StateRemoveArgs(addresses...)...)
}

func (r *Layer) Reportf(format string, args ...any) {
	r.Report.WriteString(r.Name + ": " + plain(fmt.Sprintf(format, args...)) + "\n")
}

// Recorded are the managed resources in the state, by address.
func (r *Layer) Recorded(ctx context.Context) (map[string]*tfjson.StateResource, error) {
	data, err := r.TofuOutput(ctx, "show", tofu.ShowStateArgs()...)
	if err != nil {
		return nil, err
	}
	found, err := readRecorded(data)
	if err != nil {
		return nil, fmt.Errorf("the state of %s is not JSON of a known version", r.Name)
	}
	return found, nil
}

// readRecorded reads them out of what tofu shows of a state.
func readRecorded(data []byte) (map[string]*tfjson.StateResource, error) {
	var document struct {
		Values tfjson.StateValues `json:"values"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	found := map[string]*tfjson.StateResource{}
	var walk func(*tfjson.StateModule)
	walk = func(m *tfjson.StateModule) {
		if m == nil {
			return
		}
		for _, resource := range m.Resources {
			if resource.Mode == tfjson.ManagedResourceMode {
				found[resource.Address] = resource
			}
		}
		for _, child := range m.ChildModules {
			walk(child)
		}
	}
	walk(document.Values.RootModule)
	return found, nil
}
