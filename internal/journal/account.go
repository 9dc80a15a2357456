package journal

import "time"

// An Account is what became of the resources that a run changed.
type Account struct {
	Made     []Entry  // complete creates that were not deleted again: address and ID
	Gone     []Entry  // complete deletes that were not made again
	InFlight []Entry  // begun, and neither complete nor failed
	Planned  []Entry  // creates of which no more is known than that they failed, or were to come
	Replaced []string // addresses of creates that were to take the place of something

	Began map[string]time.Time // when the last run began that changed an address; zero: not known
}

// Take reads the entries of a run in order: what came last of each resource
// counts.
func Take(entries []Entry) Account {
	type resource struct{ last, open, planned *Entry }
	known := map[string]*resource{}
	var order []string
	account := Account{Began: map[string]time.Time{}}
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
			account.Replaced = append(account.Replaced, e.Run.Replaces...)
			for _, address := range e.Run.Creates {
				account.Began[address] = began
				of(address).planned = &Entry{Time: e.Time, Address: address, Action: "create"}
			}
		}
		if e.Address == "" {
			continue
		}
		account.Began[e.Address] = began
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
			account.InFlight = append(account.InFlight, *r.open)
		}
		// Of a replacement, the old one's delete may be open, and the create have begun unseen.
		creating := r.open != nil && r.open.Action == "create"
		if r.planned != nil && !creating && (r.last == nil || r.last.Action == "delete") {
			account.Planned = append(account.Planned, *r.planned)
		}
		switch {
		case r.last == nil:
		case r.last.Action == "create":
			account.Made = append(account.Made, *r.last)
		default:
			account.Gone = append(account.Gone, *r.last)
		}
	}
	return account
}

// replaced says that a delete concerns the object that another has taken the
// place of, under the same address (create_before_destroy): their IDs differ.
func replaced(begun, last *Entry) bool {
	return begun != nil && last != nil && begun.ID != "" && begun.ID != last.ID
}
