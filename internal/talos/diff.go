package talos

// A Change is a setting that differs between two configurations.
type Change struct {
	Sign string `json:"sign"` // +, - or ~
	Place
	Old string `json:"old,omitempty"` // empty: there was none, or it is hidden
	New string `json:"new,omitempty"` // empty: there is none, or it is hidden
	Was string `json:"was,omitempty"` // keyed digest of the old value; empty: there was none, or Diff compared them
}

// String returns the change as one line, without a value that may be a secret.
func (c Change) String() string {
	line := c.Sign + " " + c.Place.String()
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
	return differences(before, after, func(was *Setting, is *Setting) (Change, bool) {
		switch {
		case was == nil:
			return Change{New: is.Value}, true
		case is == nil:
			return Change{Old: was.Value}, true
		case was.Hidden || is.Hidden:
			return Change{}, was.raw != is.raw
		}
		return Change{Old: was.Value, New: is.Value}, was.raw != is.raw
	})
}

// differences compares settings one by one, in the order of the new ones. compare is given nil for one that is
// not there, and reports whether they differ.
func differences[Old interface{ where() Place }](before []Old, after []Setting, compare func(was *Old, is *Setting) (Change, bool)) []Change {
	var changes []Change
	add := func(sign string, place Place, was *Old, is *Setting) {
		if c, differs := compare(was, is); differs {
			c.Sign, c.Place = sign, place
			changes = append(changes, c)
		}
	}
	old := map[string]*Old{}
	for i := range before {
		old[before[i].where().key()] = &before[i]
	}
	seen := map[string]bool{}
	for i := range after {
		is := &after[i]
		seen[is.key()] = true
		if was := old[is.key()]; was == nil {
			add("+", is.Place, nil, is)
		} else {
			add("~", is.Place, was, is)
		}
	}
	for i := range before {
		if place := before[i].where(); !seen[place.key()] {
			add("-", place, &before[i], nil)
		}
	}
	return changes
}
