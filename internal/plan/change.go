package plan

import (
	"reflect"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// reduce makes a change of what OpenTofu says of one resource; ok says that it
// does not stay as it is.
func reduce(rc *tfjson.ResourceChange) (c Change, ok bool) {
	c = Change{
		Address: rc.Address, Reason: keyword(string(rc.ActionReason)),
		Imported: rc.Change.Importing != nil, Deposed: rc.DeposedKey != "",
	}
	if rc.PreviousAddress != rc.Address {
		c.From = rc.PreviousAddress
	}
	c.Action, ok = c.action(rc.Change.Actions)
	if rc.Mode != "" && rc.Mode != tfjson.ManagedResourceMode && c.Action != Unknown {
		return Change{}, false // it is read or opened, and nothing is left of it
	}
	switch {
	case c.Action == Replace, c.Recreated:
		c.Attributes = differing(rc.Change)
		c.Forces = forcing(rc.Change)
	case c.Action == Update, c.Action == Unknown:
		c.Attributes = differing(rc.Change)
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

// touches says that the resource itself changes, and not only what is known of it.
func (c Change) touches() bool {
	switch c.Action {
	case Import, Move:
		return false
	case Forget:
		return c.Recreated
	}
	return !c.Deposed
}

// keyword is a word of OpenTofu's, or nothing if it does not look like one.
func keyword(word string) string {
	if len(word) > 100 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return word
}

// differing names the attributes at the top of the resource that are not after
// what they were before, or of which that will only be known later.
func differing(change *tfjson.Change) []string {
	before, after, unknown := attributes(change)
	hidden, _ := change.BeforeSensitive.(map[string]any)
	hides, _ := change.AfterSensitive.(map[string]any)
	var names []string
	for name := range all(before, after, unknown) {
		later := holdsTrue(unknown[name])
		marks := holdsTrue(hidden[name]) || holdsTrue(hides[name])
		if later || !reflect.DeepEqual(before[name], after[name]) || marks && !reflect.DeepEqual(hidden[name], hides[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// drifted is differing less the attributes that are empty before and after. Many
// providers write none of something in one way when they create it, and in another
// when they read it; nobody has changed anything.
func drifted(change *tfjson.Change) []string {
	before, after, _ := attributes(change)
	return slices.DeleteFunc(differing(change), func(name string) bool {
		return empty(before[name]) && empty(after[name])
	})
}

// empty is true for nothing, and for a text, a list and a map of length 0.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

// forcing names the attributes at the top of the resource for which it is replaced.
func forcing(change *tfjson.Change) []string {
	present := all(attributes(change))
	var names []string
	for _, path := range change.ReplacePaths {
		steps, _ := path.([]any)
		if len(steps) == 0 {
			continue
		}
		// Only the resource's own names, in case that a path is something else one day.
		if name, _ := steps[0].(string); present[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func attributes(change *tfjson.Change) (before, after, unknown map[string]any) {
	before, _ = change.Before.(map[string]any)
	after, _ = change.After.(map[string]any)
	unknown, _ = change.AfterUnknown.(map[string]any)
	return before, after, unknown
}

func all(before, after, unknown map[string]any) map[string]bool {
	names := make(map[string]bool, len(before))
	for _, m := range []map[string]any{before, after, unknown} {
		for name := range m {
			names[name] = true
		}
	}
	return names
}

// holdsTrue says that a tree of marks marks something.
func holdsTrue(tree any) bool {
	switch tree := tree.(type) {
	case bool:
		return tree
	case []any:
		return slices.ContainsFunc(tree, holdsTrue)
	case map[string]any:
		for _, child := range tree {
			if holdsTrue(child) {
				return true
			}
		}
	}
	return false
}
