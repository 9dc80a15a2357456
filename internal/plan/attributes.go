package plan

import (
	"reflect"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

// changed returns the showable values of the attributes that differ, and the names of those that
// are unknown before the apply.
func changed(change *tfjson.Change, names []string, allowed rules) (values []Value, later []string) {
	before, after, unknown := attributes(change)
	for _, name := range names {
		if !allowed.has(name) && !marksAny(unknown[name]) {
			continue // a closer look would cost a lot and show nothing
		}
		c := comparison{rules: allowed, room: mostValues - len(values)}
		c.compare(place{shown: name, path: name, rule: allowed[name]},
			side{before[name], at(change.BeforeSensitive, name)}, side{after[name], at(change.AfterSensitive, name)}, unknown[name])
		if c.later && !c.rest {
			later = append(later, name)
		}
		if len(c.values) > 0 && c.rest {
			c.values = append(c.values, Value{Path: name})
		}
		values = append(values, c.values...)
	}
	return values, later
}

// made returns the showable values of a created resource.
func made(change *tfjson.Change, allowed rules) []Value {
	if len(allowed) == 0 {
		return nil
	}
	_, after, _ := attributes(change)
	var names []string
	for name, value := range after {
		if !empty(value) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	all, _ := changed(&tfjson.Change{After: change.After, AfterUnknown: change.AfterUnknown, AfterSensitive: change.AfterSensitive}, names, allowed)
	var values []Value
	for _, v := range all {
		if len(v.Added) > 0 {
			v.New = "[" + strings.Join(v.Added, ", ") + "]"
		}
		if v.New != "" {
			values = append(values, Value{Path: v.Path, New: v.New, More: v.More})
		}
	}
	return values
}

// differing names the top-level attributes of the resource whose value changes or is only known
// after the apply.
func differing(change *tfjson.Change) []string {
	before, after, unknown := attributes(change)
	hidden, _ := change.BeforeSensitive.(map[string]any)
	hides, _ := change.AfterSensitive.(map[string]any)
	var names []string
	for name := range all(before, after, unknown) {
		later := marksAny(unknown[name])
		marks := marksAny(hidden[name]) || marksAny(hides[name])
		if later || !reflect.DeepEqual(before[name], after[name]) || marks && !reflect.DeepEqual(hidden[name], hides[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// drifted is differing without the attributes that are empty before and after. Many providers write
// an empty value in one way when they create a resource and in another when they read it; nobody
// has changed anything.
func drifted(change *tfjson.Change) []string {
	before, after, _ := attributes(change)
	return slices.DeleteFunc(differing(change), func(name string) bool {
		return empty(before[name]) && empty(after[name])
	})
}

// empty is true for null and for an empty string, list or map.
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

// forcing names the top-level attributes that force the resource to be replaced.
func forcing(change *tfjson.Change) []string {
	present := all(attributes(change))
	var names []string
	for _, path := range change.ReplacePaths {
		steps, _ := path.([]any)
		if len(steps) == 0 {
			continue
		}
		// Only accept the resource's own names, in case a path becomes something else in a later
		// version.
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

// marksAny reports whether a tree of marks marks anything.
func marksAny(tree any) bool {
	switch tree := tree.(type) {
	case bool:
		return tree
	case []any:
		return slices.ContainsFunc(tree, marksAny)
	case map[string]any:
		for _, child := range tree {
			if marksAny(child) {
				return true
			}
		}
	}
	return false
}
