package plan

import (
	"slices"
	"strings"
)

// A Value is what the allow-list shows of a changed attribute or a part of it. A nested attribute
// has one Value for each part that differs. A Value with only a path means that not everything
// about the attribute is shown.
type Value struct {
	Path    string   `json:"path"`              // such as flavor_name, disk[0].size or labels["a b"]
	Old     string   `json:"old,omitempty"`     // as written in the plan; empty for a created resource
	New     string   `json:"new,omitempty"`     //
	Added   []string `json:"added,omitempty"`   // elements of a list or a set
	Removed []string `json:"removed,omitempty"` //
	More    int      `json:"more,omitempty"`    // further elements, added or removed
}

// Attribute returns the attribute name with which the path begins.
func (v Value) Attribute() string {
	if end := strings.IndexAny(v.Path, ".["); end > 0 {
		return v.Path[:end]
	}
	return v.Path
}

// HasValue reports whether there is a value and not only a path.
func (v Value) HasValue() bool { return v.Old != "" || v.New != "" || len(v.Added)+len(v.Removed) > 0 }

// Concealed reduces each value that mask would change to the attribute's name. No part of such a
// value is shown either, because the text around a secret reveals something about it.
func Concealed(values []Value, mask func(string) string) []Value {
	var kept []Value
	for _, v := range values {
		texts := slices.Concat([]string{v.Path, v.Old, v.New}, v.Added, v.Removed)
		if slices.ContainsFunc(texts, func(text string) bool { return text != "" && mask(text) != text }) {
			v = Value{Path: v.Attribute()}
		}
		if v.HasValue() || !slices.ContainsFunc(kept, func(k Value) bool { return !k.HasValue() && k.Path == v.Path }) {
			kept = append(kept, v)
		}
	}
	return kept
}
