package talos

import "strings"

// A Change is a setting that differs between two configurations.
type Change struct {
	Sign  string // +, - or ~
	Place string
	Old   string // empty: there was none, or it is hidden
	New   string // empty: there is none, or it is hidden
}

// String returns the change as one line, without a value that may be a secret.
func (c Change) String() string {
	line := c.Sign + " " + c.Place
	switch {
	case c.Old == "" && c.New == "":
		return line + ": (hidden)"
	case c.Sign == "~":
		return line + ": " + c.Old + " → " + c.New
	}
	return line + ": " + c.Old + c.New
}

// Diff compares two configurations setting by setting, in the order of the new one.
func Diff(before, after []Setting) []Change {
	old := map[string]Setting{}
	for _, s := range before {
		old[s.key()] = s
	}
	var changes []Change
	seen := map[string]bool{}
	for _, s := range after {
		seen[s.key()] = true
		was, there := old[s.key()]
		switch {
		case !there:
			changes = append(changes, Change{Sign: "+", Place: s.Place(), New: s.Value})
		case was.raw != s.raw && (was.Hidden || s.Hidden):
			changes = append(changes, Change{Sign: "~", Place: s.Place()})
		case was.raw != s.raw:
			changes = append(changes, Change{Sign: "~", Place: s.Place(), Old: was.Value, New: s.Value})
		}
	}
	for _, s := range before {
		if !seen[s.key()] {
			changes = append(changes, Change{Sign: "-", Place: s.Place(), Old: s.Value})
		}
	}
	return changes
}

// key identifies a setting within a configuration. No name has a line break.
func (s Setting) key() string { return s.Document + "\n" + strings.Join(s.Path, "\n") }
