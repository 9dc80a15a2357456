package talos

// Since sorts the changes that a machine needs by a record of its configuration. If the machine no longer has the
// recorded value of a setting, somebody changed it on the machine: onMachine has the change from the record to the
// machine. All other changes were made in the wanted configuration alone. The digests of both have the same key.
func Since(recorded []Kept, changes []Change) (onMachine, wanted []Change) {
	before := map[string]Kept{}
	for _, k := range recorded {
		before[k.key()] = k
	}
	for _, c := range changes {
		was, there := before[c.key()]
		if was.Digest == c.Was {
			wanted = append(wanted, c)
			continue
		}
		made := Change{Sign: "~", Place: c.Place, Was: was.Digest}
		switch {
		case !there:
			made.Sign, made.New = "+", c.Old
		case c.Was == "":
			made.Sign, made.Old = "-", was.Value
		case was.Value != "" && c.Old != "": // both may be shown
			made.Old, made.New = was.Value, c.Old
		}
		onMachine = append(onMachine, made)
	}
	return onMachine, wanted
}
