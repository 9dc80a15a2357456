// Package plan reduces a plan to what may be shown: which resources change, how,
// the names of the attributes that do, and the values of those on a list. No other
// value of any attribute, variable or output leaves it, because a plan holds secrets
// that nothing marks as such: docs/adr/0013-values-in-a-review.md.
package plan

import "slices"

// An Action is what happens to a resource.
type Action string

// The actions, those that lose something first. Summaries keep this order.
const (
	Delete  Action = "delete"
	Replace Action = "replace"
	Forget  Action = "forget"  // it is left as it is, and no longer managed
	Unknown Action = "unknown" // one that this program has never heard of
	Create  Action = "create"
	Update  Action = "update"
	Import  Action = "import" // and nothing else
	Move    Action = "move"   // and nothing else
)

// Actions lists all of them in their order.
var Actions = []Action{Delete, Replace, Forget, Unknown, Create, Update, Import, Move}

// Loses says that something is gone after the action, or can be: nobody knows
// what an unknown action does.
func (a Action) Loses() bool {
	return a == Delete || a == Replace || a == Forget || a == Unknown
}

// A Change is one resource that does not stay as it is.
type Change struct {
	Address    string   `json:"address"`
	Action     Action   `json:"action"`
	Reason     string   `json:"reason,omitempty"`     // OpenTofu's word for why, such as replace_because_tainted
	Attributes []string `json:"attributes,omitempty"` // names of those that differ, sorted
	Later      []string `json:"later,omitempty"`      // names of those of Attributes that are known after the apply only, sorted
	Values     []Value  `json:"values,omitempty"`     // of those of Attributes, or of what is created, that may be shown
	Forces     []string `json:"forces,omitempty"`     // names of those that an update cannot change, sorted
	From       string   `json:"from,omitempty"`       // the address it had, if it is moved
	Imported   bool     `json:"imported,omitempty"`
	Deposed    bool     `json:"deposed,omitempty"`   // it is what a replacement left behind
	Recreated  bool     `json:"recreated,omitempty"` // it is forgotten, and another made in its place
}

// A Drift is a resource that was changed behind OpenTofu's back.
type Drift struct {
	Address    string   `json:"address"`
	Deleted    bool     `json:"deleted,omitempty"`
	Attributes []string `json:"attributes,omitempty"` // names of those that differ, sorted
	Values     []Value  `json:"values,omitempty"`     // of those that may be shown
	Answered   bool     `json:"answered,omitempty"`   // the plan changes it too: back, mostly
}

// A Summary is what may be shown of a plan.
type Summary struct {
	Changes []Change `json:"changes,omitempty"` // by action, then by address
	Outputs []string `json:"outputs,omitempty"` // names of the outputs that change, sorted
	Drift   []Drift  `json:"drift,omitempty"`   // by address
	Errored bool     `json:"errored,omitempty"` // the plan is not whole: it must not be applied
	Partial bool     `json:"partial,omitempty"` // it leaves out what can only be planned after its apply
}

// Empty says that an apply would change nothing.
func (s Summary) Empty() bool { return len(s.Changes) == 0 && len(s.Outputs) == 0 }

// Count is how many changes have that action.
func (s Summary) Count(action Action) int {
	n := 0
	for _, c := range s.Changes {
		if c.Action == action {
			n++
		}
	}
	return n
}

// Losses lists the addresses of all that an apply loses, sorted, each once.
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

// Creates lists the addresses of all that an apply makes, also in the place of what it
// loses.
func (s Summary) Creates() []string {
	var addresses []string
	for _, c := range s.Changes {
		if c.Action == Create || c.Action == Replace || c.Recreated {
			addresses = append(addresses, c.Address)
		}
	}
	return addresses
}

// Replaces lists those of Creates that take the place of something.
func (s Summary) Replaces() []string {
	var addresses []string
	for _, c := range s.Changes {
		if c.Action == Replace || c.Recreated {
			addresses = append(addresses, c.Address)
		}
	}
	return addresses
}

// Relevant is the summary less the drift that the plan leaves as it is: times,
// states and labels that a cloud changes by itself, in most plans.
func (s Summary) Relevant() Summary {
	s.Drift = slices.DeleteFunc(slices.Clone(s.Drift), func(d Drift) bool { return !d.Answered })
	return s
}
