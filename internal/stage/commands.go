package stage

// commands are all that the runner has, in the order of the help.
var commands = []func() Command{
	Up, Bootstrap, Plan, Approve, Apply, Destroy, Down,
	Drift, Output, StateList, Status, Start, Stop, SSH,
	Recover, Unlock,
	Environments, Fmt, Validate, Lint, Test, LockProviders,
	Check, Init, Set, Edit, Rotate, UpdateKeys,
	Report, DriftIssues,
}

// find returns the command of that name.
func find(name string) (c Command, ok bool) {
	for _, f := range commands {
		if c := f(); c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}
