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
func (s *session) recover(ctx context.Context) error {
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

func (r *root) recover(ctx context.Context) error {
	o, err := r.others(ctx)
	if err != nil {
		return err
	}
	lock, err := r.store.ReadLock(ctx, r.key)
	if err != nil {
		return err
	}
	lost, err := r.lostStates(ctx)
	if err != nil {
		return err
	}
	if len(o.live)+len(o.dead)+len(o.over)+len(lost) == 0 && lock == nil {
		fmt.Fprintf(&r.report, "%s: nothing was interrupted\n", r.name)
		return nil
	}
	for _, run := range o.dead {
		fmt.Fprintf(&r.report, "%s: %s was interrupted\n", r.name, describe(run))
	}
	if lock != nil {
		fmt.Fprintf(&r.report, "%s: locked by %s\n", r.name, describeLock(lock))
	}
	working, h, err := r.alone(ctx)
	if err != nil {
		return err
	}
	if err = r.release(ctx); err == nil {
		err = h.acquire(ctx)
	}
	if err == nil {
		err = r.mend(working, lost)
	}
	// What is left to be recovered is in the journals of the dead, and not in ours.
	return errors.Join(err, stopped(working), h.end(ctx, true))
}

// mend recovers under the lock. Until all is accounted for, the journals of the dead stay:
// it can be repeated, and no apply begins.
func (r *root) mend(ctx context.Context, lost []lostState) error {
	// Looked at again: now nobody else takes journals away.
	o, err := r.others(ctx)
	if err != nil {
		return err
	}
	if err := r.restore(ctx, lost); err != nil {
		return err
	}
	if len(o.dead) > 0 {
		if err := r.init(ctx); err != nil {
			return err
		}
		var entries []journal.Entry
		for _, run := range o.dead {
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
	for _, run := range slices.Concat(o.dead, o.over) {
		if err := journal.Remove(ctx, r.store, run); err != nil {
			return err
		}
	}
	return nil
}

// settle refuses to forget what is not accounted for, unless Seen names it: all of it.
func (r *root) settle(open []string) error {
	seen, err := splitAddresses("--seen", r.Seen)
	if err != nil {
		return err
	}
	open = sorted(open)
	var left []string
	for _, address := range open {
		if slices.Contains(seen, address) {
			r.reportf("%s has been seen to", address)
			continue
		}
		left = append(left, address)
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%d of what was made or begun is not accounted for: %s. Look for each in the cloud; delete it there, or take it in by an import block in the code. Until this command names them all, nothing is applied to %s: %s --seen=%s",
		len(left), strings.Join(left, ", "), r.name, r.command("recover"), printable.Quoted(strings.Join(open, ",")))
}

// reconcile makes the state say what the journal says. It returns the addresses of what was
// made, or may have been, and is not in the state.
func (r *root) reconcile(ctx context.Context, account journal.Account) (open []string, err error) {
	recorded, err := r.recorded(ctx)
	if err != nil {
		return nil, err
	}
	m := mendingOf(account, recorded)
	for _, note := range m.notes {
		r.reportf("%s", note)
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
		r.reportf("%s", note)
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
func (r *root) forget(ctx context.Context, addresses ...string) error {
	if len(addresses) == 0 {
		return nil
	}
	return r.run(ctx, "state rm", tofu.StateRemoveArgs(addresses...)...)
}

func (r *root) reportf(format string, args ...any) {
	r.report.WriteString(r.name + ": " + plain(fmt.Sprintf(format, args...)) + "\n")
}

// recorded are the managed resources in the state, by address.
func (r *root) recorded(ctx context.Context) (map[string]*tfjson.StateResource, error) {
	data, err := r.read(ctx, "show", tofu.ShowStateArgs()...)
	if err != nil {
		return nil, err
	}
	found, err := readRecorded(data)
	if err != nil {
		return nil, fmt.Errorf("the state of %s is not JSON of a known version", r.name)
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
