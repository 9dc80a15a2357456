package plan

import (
	"slices"
	"strings"
)

// A Value is what the allow-list shows of an attribute that changes, or of a part of one.
// Of what is nested there is one for each part that differs. One with a path alone says
// that there is more to the attribute than is shown.
type Value struct {
	Path    string   `json:"path"`              // such as flavor_name, disk[0].size or labels["a b"]
	Old     string   `json:"old,omitempty"`     // as it is written; empty of what is created
	New     string   `json:"new,omitempty"`     //
	Added   []string `json:"added,omitempty"`   // elements of a list or a set
	Removed []string `json:"removed,omitempty"` //
	More    int      `json:"more,omitempty"`    // elements beside those, added or removed
}

// Attribute is the name that the path begins with.
func (v Value) Attribute() string {
	if end := strings.IndexAny(v.Path, ".["); end > 0 {
		return v.Path[:end]
	}
	return v.Path
}

// Told says that there is a value, and not only a path.
func (v Value) Told() bool { return v.Old != "" || v.New != "" || len(v.Added)+len(v.Removed) > 0 }

// Concealed leaves of each value that mask would change no more than the attribute's name.
// A part of a value is not shown either: what is around a secret tells of it.
func Concealed(values []Value, mask func(string) string) []Value {
	var kept []Value
	for _, v := range values {
		texts := slices.Concat([]string{v.Path, v.Old, v.New}, v.Added, v.Removed)
		if slices.ContainsFunc(texts, func(text string) bool { return text != "" && mask(text) != text }) {
			v = Value{Path: v.Attribute()}
		}
		if v.Told() || !slices.ContainsFunc(kept, func(k Value) bool { return !k.Told() && k.Path == v.Path }) {
			kept = append(kept, v)
		}
	}
	return kept
}
