package plan

import (
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// reduce turns OpenTofu's description of one resource into a Change; ok means that the resource
// changes. The rules say which values may be shown.
func reduce(rc *tfjson.ResourceChange, allowed rules) (c Change, ok bool) {
	c = Change{
		Address: rc.Address, Reason: keyword(string(rc.ActionReason)),
		Imported: rc.Change.Importing != nil, Deposed: rc.DeposedKey != "",
	}
	if rc.PreviousAddress != rc.Address {
		c.From = rc.PreviousAddress
	}
	c.Action, ok = c.action(rc.Change.Actions)
	if rc.Mode != "" && rc.Mode != tfjson.ManagedResourceMode && c.Action != Unknown {
		return Change{}, false // only read or opened, with no lasting effect
	}
	switch {
	case c.Action == Create:
		c.Values = made(rc.Change, allowed)
	case c.Action == Replace, c.Recreated:
		c.Forces = forcing(rc.Change)
		fallthrough
	case c.Action == Update, c.Action == Unknown:
		c.Attributes = differing(rc.Change)
		c.Values, c.Later = changed(rc.Change, c.Attributes, allowed)
	}
	return c, ok
}

func (c *Change) action(actions tfjson.Actions) (action Action, ok bool) {
	switch {
	case actions.Replace():
		return Replace, true
	case actions.Create():
		return Create, true
	case actions.Update():
		return Update, true
	case actions.Delete():
		return Delete, true
	case actions.Forget():
		return Forget, true
	case slices.Equal(actions, tfjson.Actions{tfjson.ActionForget, tfjson.ActionCreate}):
		c.Recreated = true
		return Forget, true
	case !actions.NoOp() && !actions.Read():
		return Unknown, true
	case c.Imported:
		return Import, true
	case c.From != "":
		return Move, true
	}
	return "", false
}

// touches reports whether the resource itself changes, rather than only what is known about it.
func (c Change) touches() bool {
	switch c.Action {
	case Import, Move:
		return false
	case Forget:
		return c.Recreated
	}
	return !c.Deposed
}

// keyword returns a word if it looks like one of OpenTofu's, otherwise "".
func keyword(word string) string {
	if len(word) > 100 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return word
}
