package apply

import (
	"errors"
	"slices"
	"strings"

	"slipway/internal/address"
	"slipway/internal/fault"
	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/ovh"
	"slipway/internal/tofu"
)

// A recorder records what an apply does, in memory and in the journal.
type recorder struct {
	hold    *hold.Hold // nil: there is no journal
	outputs tofu.Outputs
	done    []journal.Entry // completed creates and deletes
	failed  []journal.Entry // failed creates, which may still have created something
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
		a.failed = append(a.failed, entry) // until the reason is known
	default:
		a.hold.Journal.Add(entry)
	}
}

// settleFailed settles the failed creates after an apply that left nothing else to recover. A
// create that may have created something stays in flight in the journal, so that recover looks for
// it.
func settleFailed(l *layer.Layer, a *recorder) error {
	if a.hold == nil {
		return nil
	}
	var doubts []error
	for _, entry := range a.failed {
		switch {
		case providerDied(l.Diagnostics):
			doubts = append(doubts, fault.Fail(l.Call("recover"), "the provider crashed while creating %s: it may exist without being in the state", entry.Address))
		case mayExist(entry, l.Diagnostics):
			doubts = append(doubts, fault.Fail(l.Call("recover"), "%s was ordered but did not become ready: it may exist at OVH and be charged, but it is not in the state", entry.Address))
		default:
			a.hold.Journal.Add(entry)
		}
	}
	return errors.Join(doubts...)
}

// providerDied reports whether tofu lost a provider while it was working: the requested change may
// have been made.
func providerDied(diagnostics []tofu.Diagnostic) bool {
	return slices.ContainsFunc(diagnostics, func(d tofu.Diagnostic) bool {
		return d.Severity == "error" && (strings.HasPrefix(d.Summary, "Plugin did not respond") || strings.HasPrefix(d.Summary, "Plugin error") || strings.HasPrefix(d.Summary, "Request cancelled"))
	})
}

// mayExist reports whether a failed create may have created something. The ovh provider only writes
// a new object to the state when it is ready. If it gives up waiting, it forgets the object, and
// the next apply would create another one. If OVH rejected the request, the object does not exist.
func mayExist(entry journal.Entry, diagnostics []tofu.Diagnostic) bool {
	if !address.OfType(entry.Address, ovh.CanFind) {
		return false
	}
	return !slices.ContainsFunc(diagnostics, func(d tofu.Diagnostic) bool {
		text := d.Summary + d.Detail
		return d.Address == entry.Address && strings.HasPrefix(text, "calling Post") && strings.Contains(text, "(status code 4")
	})
}
