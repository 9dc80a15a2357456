package journal

import "time"

// An Outcome is what happened to the resources that a run changed.
type Outcome struct {
	Created  []Entry  // complete creates that were not deleted again: address and ID
	Deleted  []Entry  // complete deletes that were not created again
	InFlight []Entry  // begun, and neither complete nor failed
	Planned  []Entry  // creates that failed, or had not begun, as far as is known
	Replaced []string // addresses of creates that were to replace something

	Began map[string]time.Time // when the last run began that changed an address; zero: not known
}

// Replay reads the entries of a run in order. For each resource, the last one
// counts.
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
		// Of a replacement, the old one's delete may be open, and the create have begun unseen.
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

// replaced says that a delete concerns the object that another has taken the
// place of, under the same address (create_before_destroy): their IDs differ.
func replaced(begun, last *Entry) bool {
	return begun != nil && last != nil && begun.ID != "" && begun.ID != last.ID
}
