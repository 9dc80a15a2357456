package journal

import "time"

// An Outcome is what happened to the resources that a run changed.
type Outcome struct {
	Created  []Entry  // completed creates, not deleted later: address and ID
	Deleted  []Entry  // completed deletes, not recreated later
	InFlight []Entry  // started, neither completed nor failed
	Planned  []Entry  // creates that failed or are not known to have started
	Replaced []string // addresses of creates that replace a resource

	Began map[string]time.Time // by address: start of the last run that changed it; zero if unknown
}

// Replay reads a run's entries in order. For each resource, the last entry counts.
func Replay(entries []Entry) Outcome {
	type resource struct{ last, open, planned *Entry }
	known := map[string]*resource{}
	var order []string
	outcome := Outcome{Began: map[string]time.Time{}}
	var began time.Time
	of := func(address string) *resource {
		r := known[address]
		if r == nil {
			r = &resource{}
			known[address] = r
			order = append(order, address)
		}
		return r
	}
	for i := range entries {
		e := &entries[i]
		if e.Run != nil {
			began = e.Run.Started
			outcome.Replaced = append(outcome.Replaced, e.Run.Replaces...)
			for _, address := range e.Run.Creates {
				outcome.Began[address] = began
				of(address).planned = &Entry{Time: e.Time, Address: address, Action: "create"}
			}
		}
		if e.Address == "" {
			continue
		}
		outcome.Began[e.Address] = began
		r := of(e.Address)
		switch e.Kind {
		case Start:
			r.open = e
		case Errored:
			r.open = nil
		case Complete:
			begun := r.open
			r.open = nil
			switch {
			case e.Action == "create":
				r.last = e
			case e.Action == "delete" && !replaced(begun, r.last):
				r.last = e
			}
		}
	}
	for _, address := range order {
		r := known[address]
		if r.open != nil {
			outcome.InFlight = append(outcome.InFlight, *r.open)
		}
		// In a replacement, the delete of the old resource may be open while the create has already
		// started unreported.
		creating := r.open != nil && r.open.Action == "create"
		if r.planned != nil && !creating && (r.last == nil || r.last.Action == "delete") {
			outcome.Planned = append(outcome.Planned, *r.planned)
		}
		switch {
		case r.last == nil:
		case r.last.Action == "create":
			outcome.Created = append(outcome.Created, *r.last)
		default:
			outcome.Deleted = append(outcome.Deleted, *r.last)
		}
	}
	return outcome
}

// replaced reports whether a delete concerns the old object of a create_before_destroy replacement:
// both have the same address, but their IDs differ.
func replaced(begun, last *Entry) bool {
	return begun != nil && last != nil && begun.ID != "" && begun.ID != last.ID
}
