// Package journal records what an apply does, beside the state and as it
// happens: OpenTofu writes its state only every 20 seconds, so one that is killed
// forgets what it made meanwhile. The journal does not.
//
// Each run of an apply has a folder of objects in the store of the state:
//
//	journal/<state>/<run>/00000.age   what the run is
//	journal/<state>/<run>/00001.age   what began and ended, in order, and so on
//	journal/<state>/<run>/alive       written again every few seconds
//
// All but the last are sealed to those who can read the environment's
// credentials. A run that ends in order takes its folder away; one that is left
// says that something was interrupted. One without its last object has ended
// itself, and left the others for recover.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway/internal/secrets"
	"slipway/internal/state"
)

// A run that is at work signs every beat. One that has not for DeadAfter is dead.
const (
	beat      = 10 * time.Second
	DeadAfter = time.Minute
)

// An Entry is one fact of a run.
type Entry struct {
	Kind    Kind      `json:"kind"`
	Time    time.Time `json:"time"`
	Address string    `json:"address,omitempty"` // of the resource
	Action  string    `json:"action,omitempty"`  // create, delete or update
	IDKey   string    `json:"id_key,omitempty"`  // of a complete create
	ID      string    `json:"id,omitempty"`      // by which the resource can be imported
	Lock    string    `json:"lock,omitempty"`    // ID of the lock that the run holds
	Run     *Header   `json:"run,omitempty"`     // of the first entry
}

// A Kind says what an entry tells of.
type Kind string

const (
	Begin    Kind = "begin"    // of the run
	Locked   Kind = "locked"   // the run holds the state's lock
	Start    Kind = "start"    // of a change of one resource
	Complete Kind = "complete" // that change is made
	Errored  Kind = "errored"  // that change failed
)

// A Header says what a run is.
type Header struct {
	Version     int       `json:"version"` // 1
	ID          string    `json:"id"`
	Stage       string    `json:"stage"`
	Environment string    `json:"environment"`
	Layer       string    `json:"layer"`
	Holder      string    `json:"holder"` // user@host, as OpenTofu writes it into a lock
	Started     time.Time `json:"started"`

	// Creates are the addresses that the run's plan makes. What began is known a
	// moment later than it begins: one that was killed in between is looked for, too.
	Creates []string `json:"creates,omitempty"`
}

// alive is the object that a run at work writes again and again.
const alive = "alive"

// folder is that of all runs on a state.
func folder(stateKey string) string {
	return "journal/" + strings.TrimSuffix(stateKey, ".tfstate") + "/"
}

// A Run is what the journal holds of one.
type Run struct {
	Header
	Entries []Entry

	silent time.Duration // since its last sign of life, in whole seconds
	signs  bool          // there is one
	keys   []string
}

// Silent is the time since the run's last sign of life; ok is false for one that
// has ended itself.
func (r Run) Silent() (d time.Duration, ok bool) { return r.silent, r.signs }

// Lock is the ID of the lock that the run took, if it is known.
func (r Run) Lock() string {
	for _, e := range r.Entries {
		if e.Kind == Locked {
			return e.Lock
		}
	}
	return ""
}

// Runs reads the runs that are at work on a state or were interrupted, in the
// order of their start.
func Runs(ctx context.Context, store *state.Store, identity secrets.Identity, stateKey string) ([]Run, error) {
	objects, err := store.List(ctx, folder(stateKey))
	if err != nil {
		return nil, err
	}
	var runs []Run
	for _, o := range objects {
		id, name, _ := strings.Cut(strings.TrimPrefix(o.Key, folder(stateKey)), "/")
		if len(runs) == 0 || runs[len(runs)-1].ID != id {
			runs = append(runs, Run{Header: Header{ID: id}})
		}
		run := &runs[len(runs)-1]
		run.keys = append(run.keys, o.Key)
		if name == alive {
			run.silent, run.signs = o.Age, true
			continue
		}
		sealed, err := store.Read(ctx, o.Key)
		if errors.Is(err, state.ErrNone) {
			continue // the run has just ended in order
		}
		if err != nil {
			return nil, err
		}
		data, err := identity.Open(sealed)
		if err != nil {
			return nil, fmt.Errorf("read the journal's %s: %w", o.Key, err)
		}
		for line := range strings.Lines(string(data)) {
			var e Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return nil, fmt.Errorf("read the journal's %s: %w", o.Key, err)
			}
			if e.Run != nil && e.Run.ID == id {
				run.Header = *e.Run
			}
			run.Entries = append(run.Entries, e)
		}
	}
	return runs, nil
}

// Remove takes away what is left of a run, its header last.
func Remove(ctx context.Context, store *state.Store, run Run) error {
	for _, key := range slices.Backward(run.keys) {
		if err := store.Remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
