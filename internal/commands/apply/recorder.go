package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"slipway/internal/address"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/ovh"
	"slipway/internal/tofu"
)

// A recorder takes note of what an apply does, in the journal too.
type recorder struct {
	hold    *hold.Hold // nil: there is no journal
	outputs tofu.Outputs
	done    []journal.Entry // creates and deletes that are complete
	failed  []journal.Entry // creates that may have created something all the same
}

var kinds = map[string]journal.Kind{
	tofu.ApplyStart: journal.Start, tofu.ApplyComplete: journal.Complete, tofu.ApplyErrored: journal.Errored,
}

func (a *recorder) event(e tofu.Event) {
	if e.Type == tofu.OutputsMsg {
		a.outputs = e.Outputs
	}
	kind, ok := kinds[e.Type]
	if !ok {
		return
	}
	entry := journal.Entry{
		Kind: kind, Time: e.Time, Address: e.Hook.Resource.Address,
		Action: e.Hook.Action, IDKey: e.Hook.IDKey, ID: e.Hook.IDValue,
	}
	if kind == journal.Complete && e.Hook.Action != "update" {
		a.done = append(a.done, entry)
	}
	switch {
	case a.hold == nil:
	case kind == journal.Errored && entry.Action == "create":
		a.failed = append(a.failed, entry) // until it is known why
	default:
		a.hold.Journal.Add(entry)
	}
}

// settleFailed settles the creates that failed, after an apply that left nothing else to recover.
// In the journal, one that may have created something stays in flight: recover looks for it.
func settleFailed(l *layer.Layer, a *recorder) error {
	if a.hold == nil {
		return nil
	}
	var doubts []error
	for _, entry := range a.failed {
		switch {
		case providerDied(l.Diagnostics):
			doubts = append(doubts, fmt.Errorf("the provider of %s died while it was created: it may exist and not be in the state; next: %s", entry.Address, l.Call("recover")))
		case mayExist(entry, l.Diagnostics):
			doubts = append(doubts, fmt.Errorf("%s was ordered and did not become ready: OVH may have it and charge for it, and it is not in the state; next, to import it: %s", entry.Address, l.Call("recover")))
		default:
			a.hold.Journal.Add(entry)
		}
	}
	return errors.Join(doubts...)
}

// providerDied says whether tofu lost a provider while the provider worked: what it was asked for
// may have been done.
func providerDied(diagnostics []tofu.Diagnostic) bool {
	return slices.ContainsFunc(diagnostics, func(d tofu.Diagnostic) bool {
		return d.Severity == "error" && (strings.HasPrefix(d.Summary, "Plugin did not respond") || strings.HasPrefix(d.Summary, "Plugin error") || strings.HasPrefix(d.Summary, "Request cancelled"))
	})
}

// mayExist says whether a create that failed may have created something. The ovh provider writes
// what it creates to the state only when that is ready. If it does not see that happen, it forgets
// the object, and the next apply would create another. What OVH refused does not exist.
func mayExist(entry journal.Entry, diagnostics []tofu.Diagnostic) bool {
	if !address.OfType(entry.Address, ovh.CanFind) {
		return false
	}
	return !slices.ContainsFunc(diagnostics, func(d tofu.Diagnostic) bool {
		text := d.Summary + d.Detail
		return d.Address == entry.Address && strings.HasPrefix(text, "calling Post") && strings.Contains(text, "(status code 4")
	})
}
