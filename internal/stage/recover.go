package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/journal"
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
	live, dead, err := r.runs(ctx)
	if err != nil {
		return err
	}
	lock, err := r.store.ReadLock(ctx, r.key)
	if err != nil {
		return err
	}
	for _, run := range dead {
		fmt.Fprintf(&r.report, "%s: %s was interrupted\n", r.name, describe(run))
	}
	if lock != nil {
		fmt.Fprintf(&r.report, "%s: it left the lock of %s\n", r.name, describeLock(lock))
	}
	if err := r.release(ctx, lock, live, dead); err != nil {
		return err
	}
	if err := r.restore(ctx); err != nil {
		return err
	}
	if len(dead) == 0 {
		if lock == nil {
			fmt.Fprintf(&r.report, "%s: nothing was interrupted\n", r.name)
		}
		return nil
	}
	if err := r.init(ctx); err != nil {
		return err
	}
	var entries []journal.Entry
	for _, run := range dead {
		entries = append(entries, run.Entries...)
	}
	left, err := r.reconcile(ctx, journal.Take(entries))
	if err != nil {
		return err
	}
	// Until here a repetition finds the journal as it was.
	for _, run := range dead {
		if err := journal.Remove(ctx, r.store, run); err != nil {
			return err
		}
	}
	if len(left) == 0 {
		return nil
	}
	for _, e := range left {
		r.reportf("%s was made, and is not in the state: its %s is %s", e.Address, e.IDKey, e.ID)
	}
	return fmt.Errorf("%d of what was made could not be taken into the state of %s: put an import block for each into the code, with the id that its provider's documentation asks for, before the next apply makes it again", len(left), r.name)
}

// reconcile makes the state say what the journal says. It returns what was made and
// could not be imported.
func (r *root) reconcile(ctx context.Context, account journal.Account) ([]journal.Entry, error) {
	recorded, err := r.recorded(ctx)
	if err != nil {
		return nil, err
	}
	var remove []string
	var made []journal.Entry
	for _, e := range account.Gone {
		if _, ok := recorded[e.Address]; ok {
			remove = append(remove, e.Address)
			r.reportf("%s was deleted, and is taken out of the state", e.Address)
		}
	}
	for _, e := range account.Made {
		resource, ok := recorded[e.Address]
		switch {
		case e.ID == "":
			if !ok {
				r.reportf("%s was made, but its provider tells no ID to import it by: import it by hand", e.Address)
			}
			continue
		case ok && fmt.Sprint(resource.AttributeValues[e.IDKey]) == e.ID:
			continue
		case ok: // what it replaced
			remove = append(remove, e.Address)
		}
		made = append(made, e)
	}
	if len(remove) > 0 {
		if code, err := r.tool.Run(ctx, &r.noise, tofu.StateRemoveArgs(remove...)...); err != nil || code != tofu.ExitOK {
			return nil, r.failed(ctx, "state rm", err)
		}
	}
	left, err := r.takeIn(ctx, made)
	if err != nil {
		return nil, err
	}
	found, err := r.search(ctx, account.InFlight, account.Planned)
	if err != nil {
		return nil, err
	}
	more, err := r.takeIn(ctx, found)
	if err != nil {
		return nil, err
	}
	if len(account.InFlight)+len(made)+len(remove)+len(found) == 0 {
		r.reportf("the state holds all that was made")
	}
	return append(left, more...), r.makeAnew(ctx, account.Made, slices.Concat(account.InFlight, found))
}

func (r *root) reportf(format string, args ...any) {
	r.report.WriteString(r.name + ": " + plain(fmt.Sprintf(format, args...)) + "\n")
}

// recorded are the managed resources in the state, by address.
func (r *root) recorded(ctx context.Context) (map[string]*tfjson.StateResource, error) {
	data, code, err := r.tool.Output(ctx, tofu.ShowStateArgs()...)
	if err != nil || code != tofu.ExitOK {
		return nil, r.failed(ctx, "show", err)
	}
	var document struct {
		Values tfjson.StateValues `json:"values"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("the state of %s is not JSON of a known version", r.name)
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
