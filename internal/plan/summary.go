// Package plan reduces a plan to what may be shown: which resources change, how,
// and the names of the attributes that do. No value of any attribute, variable
// or output leaves it, because a plan holds secrets that nothing marks as such.
package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// An Action is what happens to a resource.
type Action string

// The actions, those that lose something first. Summaries keep this order.
const (
	Delete  Action = "delete"
	Replace Action = "replace"
	Forget  Action = "forget"
	Create  Action = "create"
	Update  Action = "update"
	Import  Action = "import" // and nothing else
	Move    Action = "move"   // and nothing else
)

// Actions lists all of them in their order.
var Actions = []Action{Delete, Replace, Forget, Create, Update, Import, Move}

// A Change is one resource that does not stay as it is.
type Change struct {
	Address    string
	Action     Action
	Reason     string   // OpenTofu's word for why, such as replace_because_tainted; often empty
	Attributes []string // names of those that differ, sorted; for updates and replacements
	From       string   // the address it had, if it is moved
	Imported   bool
}

// A Summary is what may be shown of a plan.
type Summary struct {
	Changes []Change // by action, then by address
	Outputs []string // names of the outputs that change
	Drift   []string // addresses of what changed behind OpenTofu's back
	Errored bool     // the plan is not whole: it must not be applied
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

// Read reduces the output of `tofu show -json` for a saved plan. Its errors hold
// nothing of the plan.
func Read(data []byte) (Summary, error) {
	var plan tfjson.Plan
	if err := json.Unmarshal(data, &plan); err != nil {
		return Summary{}, fmt.Errorf("the plan is not the JSON of a known version")
	}
	// terraform-json does not know this one.
	var more struct {
		Errored bool `json:"errored"`
	}
	if err := json.Unmarshal(data, &more); err != nil {
		return Summary{}, fmt.Errorf("the plan is not the JSON of a known version")
	}
	s := Summary{Errored: more.Errored}
	for _, rc := range plan.ResourceChanges {
		if rc == nil || rc.Change == nil || rc.Mode == tfjson.DataResourceMode {
			continue
		}
		if c, ok := change(rc); ok {
			s.Changes = append(s.Changes, c)
		}
	}
	slices.SortFunc(s.Changes, func(a, b Change) int {
		if n := slices.Index(Actions, a.Action) - slices.Index(Actions, b.Action); n != 0 {
			return n
		}
		return strings.Compare(a.Address, b.Address)
	})
	for name, c := range plan.OutputChanges {
		if c != nil && !c.Actions.NoOp() {
			s.Outputs = append(s.Outputs, name)
		}
	}
	slices.Sort(s.Outputs)
	for _, rc := range plan.ResourceDrift {
		if rc != nil {
			s.Drift = append(s.Drift, rc.Address)
		}
	}
	slices.Sort(s.Drift)
	return s, nil
}

// change reduces one resource; ok says that it does not stay as it is.
func change(rc *tfjson.ResourceChange) (c Change, ok bool) {
	c = Change{Address: rc.Address, Reason: string(rc.ActionReason), Imported: rc.Change.Importing != nil}
	if rc.PreviousAddress != rc.Address {
		c.From = rc.PreviousAddress
	}
	actions := rc.Change.Actions
	switch {
	case actions.Replace():
		c.Action = Replace
	case actions.Create():
		c.Action = Create
	case actions.Update():
		c.Action = Update
	case actions.Delete():
		c.Action = Delete
	case slices.Contains(actions, tfjson.ActionForget):
		c.Action = Forget
	case c.Imported:
		c.Action = Import
	case c.From != "":
		c.Action = Move
	default:
		return Change{}, false
	}
	if c.Action == Update || c.Action == Replace {
		c.Attributes = differing(rc.Change)
	}
	return c, true
}

// differing names the attributes at the top of the resource whose values differ
// or will only be known later.
func differing(change *tfjson.Change) []string {
	before, _ := change.Before.(map[string]any)
	after, _ := change.After.(map[string]any)
	unknown, _ := change.AfterUnknown.(map[string]any)
	names := map[string]bool{}
	for name, value := range before {
		if !reflect.DeepEqual(value, after[name]) && unknown[name] == nil {
			names[name] = true
		}
	}
	for name, value := range after {
		if !reflect.DeepEqual(value, before[name]) {
			names[name] = true
		}
	}
	for name, value := range unknown {
		// The tree below holds true wherever something is not known.
		if data, err := json.Marshal(value); err == nil && bytes.Contains(data, []byte("true")) {
			names[name] = true
		}
	}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
