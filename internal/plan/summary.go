// Package plan reduces a plan to what may be shown: which resources change, how, the names of the
// attributes that change, and the values of the attributes on an allow-list. No other value of any
// attribute, variable or output leaves it, because a plan contains secrets that are not marked as
// such: docs/adr/0013-values-in-a-review.md.
package plan

import "slices"

// An Action is what happens to a resource.
type Action string

// The actions, losses first. Summaries keep this order.
const (
	Delete  Action = "delete"
	Replace Action = "replace"
	Forget  Action = "forget"  // left as it is, but no longer managed
	Unknown Action = "unknown" // an action that Slipway does not know
	Create  Action = "create"
	Update  Action = "update"
	Import  Action = "import" // and nothing else
	Move    Action = "move"   // and nothing else
)

// Actions lists all actions in order.
var Actions = []Action{Delete, Replace, Forget, Unknown, Create, Update, Import, Move}

// Loses reports whether the action destroys something, or could: the effect of an unknown action is
// not known.
func (a Action) Loses() bool {
	return a == Delete || a == Replace || a == Forget || a == Unknown
}

// A Change is one resource that does not stay as it is.
type Change struct {
	Address    string   `json:"address"`
	Action     Action   `json:"action"`
	Reason     string   `json:"reason,omitempty"`     // OpenTofu's reason code, such as replace_because_tainted
	Attributes []string `json:"attributes,omitempty"` // names of the attributes that differ, sorted
	Later      []string `json:"later,omitempty"`      // names of the Attributes that are only known after the apply, sorted
	Values     []Value  `json:"values,omitempty"`     // values of Attributes, or of a created resource, that may be shown
	Forces     []string `json:"forces,omitempty"`     // names of the attributes that force a replacement, sorted
	From       string   `json:"from,omitempty"`       // previous address, if it is moved
	Imported   bool     `json:"imported,omitempty"`
	Deposed    bool     `json:"deposed,omitempty"`   // a leftover of a replacement
	Recreated  bool     `json:"recreated,omitempty"` // forgotten and created again as a new resource
	Restarts   bool     `json:"restarts,omitempty"`  // a node of a cluster that restarts
}

// A Drift is a resource that was changed outside of OpenTofu.
type Drift struct {
	Address    string   `json:"address"`
	Deleted    bool     `json:"deleted,omitempty"`
	Attributes []string `json:"attributes,omitempty"` // names of the attributes that differ, sorted
	Values     []Value  `json:"values,omitempty"`     // values that may be shown
	Answered   bool     `json:"answered,omitempty"`   // the plan changes it, too: usually back
}

// A Summary is what may be shown of a plan.
type Summary struct {
	Changes []Change `json:"changes,omitempty"` // by action, then by address
	Outputs []string `json:"outputs,omitempty"` // names of the outputs that change, sorted
	Drift   []Drift  `json:"drift,omitempty"`   // by address
	Errored bool     `json:"errored,omitempty"` // the plan is incomplete and must not be applied
	Partial bool     `json:"partial,omitempty"` // it excludes what can only be planned after its apply
}

// Empty reports whether an apply would change nothing.
func (s Summary) Empty() bool { return len(s.Changes) == 0 && len(s.Outputs) == 0 }

// Count returns the number of changes with that action.
func (s Summary) Count(action Action) int {
	n := 0
	for _, c := range s.Changes {
		if c.Action == action {
			n++
		}
	}
	return n
}

// Losses lists the addresses of everything that an apply loses, sorted and without duplicates.
func (s Summary) Losses() []string {
	var addresses []string
	for _, c := range s.Changes {
		if c.Action.Loses() {
			addresses = append(addresses, c.Address)
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// Creates lists the addresses of everything that an apply creates, including replacements.
func (s Summary) Creates() []string {
	var addresses []string
	for _, c := range s.Changes {
		if c.Action == Create || c.Action == Replace || c.Recreated {
			addresses = append(addresses, c.Address)
		}
	}
	return addresses
}

// Replaces lists the addresses in Creates that replace an existing resource.
func (s Summary) Replaces() []string {
	var addresses []string
	for _, c := range s.Changes {
		if c.Action == Replace || c.Recreated {
			addresses = append(addresses, c.Address)
		}
	}
	return addresses
}

// Relevant returns the summary without drift that the plan leaves as it is. In most plans that is
// times, states and labels that the cloud itself changes.
func (s Summary) Relevant() Summary {
	s.Drift = slices.DeleteFunc(slices.Clone(s.Drift), func(d Drift) bool { return !d.Answered })
	return s
}
