// Package journal records what a run does to a state, beside the state and as it
// happens: OpenTofu writes its state only every 20 seconds, so one that is killed
// forgets what it made meanwhile. The journal does not.
//
// Each run that changes a state has a folder of objects in the store of the state:
//
//	journal/<key of the state>/<run>/00000.age   what the run is, and the ID of its lock
//	journal/<key of the state>/<run>/00001.age   what began and ended, in order, and so on
//	journal/<key of the state>/<run>/alive       written again every few seconds
//	journal/<key of the state>/<run>/ended       the run ended itself and left all this for recover
//	journal/<key of the state>/<run>/finished    the run ended in order: nothing is to be recovered
//
// The numbered ones are sealed to those who can read the environment's credentials. The
// first is written before anything else is done, and the last to go is finished: in
// whatever order a run is killed, a folder that needs recovery says so, and one that
// does not is litter.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"slipway/internal/secrets"
	"slipway/internal/state"
)

// DeadAfter is the silence by which a run is taken to be dead. A run whose signs the
// store does not take stops well before: see Beat.
const DeadAfter = time.Minute

// An Entry is one fact of a run.
type Entry struct {
	Kind    Kind      `json:"kind"`
	Time    time.Time `json:"time"`
	Address string    `json:"address,omitempty"` // of the resource
	Action  string    `json:"action,omitempty"`  // create, delete or update
	IDKey   string    `json:"id_key,omitempty"`  // of a complete create
	ID      string    `json:"id,omitempty"`      // by which the resource can be imported
	Lock    string    `json:"lock,omitempty"`    // version 1: ID of the lock that the run holds
	Run     *Header   `json:"run,omitempty"`     // of the first entry
}

// A Kind says what an entry tells of.
type Kind string

const (
	Begin    Kind = "begin"    // of the run
	Locked   Kind = "locked"   // version 1: the run holds the state's lock
	Start    Kind = "start"    // of a change of one resource
	Complete Kind = "complete" // that change is made
	Errored  Kind = "errored"  // that change failed
)

// A Header says what a run is.
type Header struct {
	Version     int       `json:"version"` // 2
	ID          string    `json:"id"`
	Stage       string    `json:"stage"`
	Environment string    `json:"environment"`
	Layer       string    `json:"layer"`
	Started     time.Time `json:"started"`

	// Lock is the ID of the lock that the run is about to take. It is written here
	// first, so that a lock is known to be the run's by its ID alone. Empty: none.
	Lock string `json:"lock,omitempty"`

	// Creates are the addresses that the run's plan makes. What began is known a
	// moment later than it begins: one that was killed in between is looked for, too.
	Creates []string `json:"creates,omitempty"`

	// Replaces are those of them that take the place of something.
	Replaces []string `json:"replaces,omitempty"`
}

// Names of the objects that are marks: what counts is that they are there.
const (
	alive    = "alive"
	ended    = "ended"
	finished = "finished"
)

// folder is that of all runs on a state. No key of a state is the beginning of
// another's folder, as all of them end in .tfstate.
func folder(stateKey string) string { return "journal/" + stateKey + "/" }

// folderV1 is where version 1 kept them; there, layers whose names begin alike share
// one.
func folderV1(stateKey string) string {
	return "journal/" + strings.TrimSuffix(stateKey, ".tfstate") + "/"
}

// A Run is what the journal holds of one.
type Run struct {
	Header
	Entries []Entry

	silent time.Duration // since its last write, in whole seconds
	marks  []string
	keys   []string
}

// Over says that nothing of the run is to be recovered: it ended in order, or never
// began.
func (r Run) Over() bool { return slices.Contains(r.marks, finished) || len(r.Entries) == 0 }

// Live says that the run may be at work: it was heard of less than deadAfter ago, and
// has not said that it ended.
func (r Run) Live(deadAfter time.Duration) bool {
	return !r.Over() && !r.endedItself() && r.Silent() < deadAfter
}

// endedItself says that the run stopped by itself and left its journal. In version 1 it
// took its sign of life away to say so.
func (r Run) endedItself() bool {
	if r.Version == 1 {
		return !slices.Contains(r.marks, alive)
	}
	return slices.Contains(r.marks, ended)
}

// Silent is the time since the run's last sign of life.
func (r Run) Silent() time.Duration { return max(0, r.silent) }

// Holds says whether a lock is the run's: by its ID, and by nothing else.
func (r Run) Holds(lock state.Lock) bool {
	if lock.ID == "" {
		return false
	}
	return r.Lock == lock.ID || slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Kind == Locked && e.Lock == lock.ID })
}

// Runs reads the journals of all runs on a state that are at work, were interrupted, or
// left litter, in the order of their start.
func Runs(ctx context.Context, store *state.Store, identity secrets.Identity, stateKey string) ([]Run, error) {
	var runs []Run
	for _, prefix := range []string{folder(stateKey), folderV1(stateKey)} {
		objects, err := store.List(ctx, prefix)
		if err != nil {
			return nil, err
		}
		at := map[string]int{}
		for _, o := range objects {
			id, name, ok := strings.Cut(strings.TrimPrefix(o.Key, prefix), "/")
			if !ok || strings.Contains(name, "/") {
				continue // of a layer further down, in a folder of version 1
			}
			if _, ok := at[id]; !ok {
				at[id] = len(runs)
				runs = append(runs, Run{Header: Header{ID: id}, silent: o.Age})
			}
			run := &runs[at[id]]
			run.keys = append(run.keys, o.Key)
			run.silent = min(run.silent, o.Age)
			if path.Ext(name) != ".age" {
				run.marks = append(run.marks, name)
			}
		}
	}
	for i := range runs {
		if err := runs[i].read(ctx, store, identity); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return a.start().Compare(b.start()) })
	return runs, nil
}

// read opens the entries of a run, unless nobody needs them any more.
func (r *Run) read(ctx context.Context, store *state.Store, identity secrets.Identity) error {
	if slices.Contains(r.marks, finished) {
		return nil
	}
	for _, key := range r.keys {
		if path.Ext(key) != ".age" {
			continue
		}
		sealed, err := store.Read(ctx, key)
		if errors.Is(err, state.ErrNone) {
			continue // the run has just ended in order
		}
		if err != nil {
			return err
		}
		data, err := identity.Open(sealed)
		if err != nil {
			return fmt.Errorf("read the journal's %s: %w", key, err)
		}
		for line := range strings.Lines(string(data)) {
			var e Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return fmt.Errorf("read the journal's %s: %w", key, err)
			}
			if e.Run != nil && e.Run.ID == r.ID {
				r.Header = *e.Run
			}
			r.Entries = append(r.Entries, e)
		}
	}
	return nil
}

// start is the time of the first entry, also of a run whose header is gone.
func (r Run) start() time.Time {
	if len(r.Entries) > 0 {
		return r.Entries[0].Time
	}
	return time.Time{}
}

// Remove takes a run's journal away, as one that ended in order: killed on the way, it
// leaves litter and nothing that looks interrupted.
func Remove(ctx context.Context, store *state.Store, run Run) error {
	if len(run.keys) == 0 {
		return nil
	}
	return removeAll(ctx, store, path.Dir(run.keys[0])+"/", run.keys)
}

// removeAll takes the objects of a folder away. The mark that it is over comes first and
// goes last.
func removeAll(ctx context.Context, store *state.Store, folder string, keys []string) error {
	last := folder + finished
	if err := store.Write(ctx, last, []byte("ended in order\n")); err != nil {
		return err
	}
	for _, key := range append(slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == last }), last) {
		if err := store.Remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
