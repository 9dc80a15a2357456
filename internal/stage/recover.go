package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/journal"
	"slipway/internal/plan"
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
		case ok: // of the object that it replaced
			remove = append(remove, e.Address)
		}
		made = append(made, e)
	}
	for _, e := range account.InFlight {
		r.reportf("%s was in flight (%s): look whether it was done before the next apply", e.Address, e.Action)
	}
	if len(account.InFlight)+len(made)+len(remove) == 0 {
		r.reportf("the state holds all that was made")
	}
	if len(remove) > 0 {
		if code, err := r.tool.Run(ctx, &r.noise, tofu.StateRemoveArgs(remove...)...); err != nil || code != tofu.ExitOK {
			return nil, r.failed(ctx, "state rm", err)
		}
	}
	if len(made) == 0 {
		return nil, nil
	}
	left, err := r.takeIn(ctx, made)
	if err != nil {
		return nil, err
	}
	for _, e := range made {
		if !slices.Contains(left, e) {
			r.reportf("%s was made, and is taken into the state (%s)", e.Address, e.IDKey)
		}
	}
	return left, nil
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

// takeIn imports what was made. It uses import blocks, and where a plan of these
// fails or would do more than import, it imports one by one: that changes nothing
// else. It returns what could not be imported: some providers want another id for
// that than the one that they tell.
func (r *root) takeIn(ctx context.Context, made []journal.Entry) (left []journal.Entry, err error) {
	var blocks strings.Builder
	var targets []string
	for _, e := range made {
		fmt.Fprintf(&blocks, "import {\n  to = %s\n  id = %s\n}\n", e.Address, quote(e.ID))
		targets = append(targets, e.Address)
	}
	file := filepath.Join(r.dir, "slipway_recover.tf")
	if err := os.WriteFile(file, []byte(blocks.String()), 0o600); err != nil {
		return nil, r.fullWork(err)
	}
	summary, err := r.planned(ctx, tofu.Plan{Targets: targets})
	if err == nil && harmless(summary) {
		_, err := r.applyPlan(ctx)
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, err
	}
	r.diagnostics = nil
	if err := os.Remove(file); err != nil {
		return nil, err
	}
	for _, e := range made {
		code, err := r.tool.Run(ctx, &r.noise, tofu.ImportArgs(e.Address, e.ID)...)
		if err == nil && code == tofu.ExitOK {
			r.noise.Reset()
			continue
		}
		failure := r.failed(ctx, "import", err)
		if err != nil || ctx.Err() != nil {
			return nil, failure
		}
		left = append(left, e)
	}
	return left, nil
}

// harmless says that a plan imports, and brings up to date what it imports.
func harmless(summary plan.Summary) bool {
	for _, c := range summary.Changes {
		if !c.Imported || c.Action != plan.Import && c.Action != plan.Update {
			return false
		}
	}
	return true
}

// quote writes text as a literal of OpenTofu's language.
func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can always be marshalled
	}
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(string(data))
}
