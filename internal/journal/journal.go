// Package journal records what a run does to a state while it does it. The journal is stored beside
// the state. OpenTofu persists its state only every 20 seconds, so a killed tofu forgets what it
// created since then. The journal does not.
//
// Each run that changes a state has a folder of objects in the state's store:
//
//	journal/<state key>/<run>/00000.age   the run's header, with the ID of its lock
//	journal/<state key>/<run>/00001.age   what began and ended, in order; 00002.age and so on follow
//	journal/<state key>/<run>/alive       rewritten every few seconds
//	journal/<state key>/<run>/ended       the run stopped by itself and left its journal for recover
//	journal/<state key>/<run>/finished    the run ended cleanly: there is nothing to recover
//
// The numbered objects are encrypted to everyone who can read the environment's credentials. The
// first one is written before the run does anything else, and "finished" is deleted last. So
// whenever a run is killed, a folder that needs recovery says so, and a folder that does not is
// litter.
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

// DeadAfter is how long a run must be silent before others consider it dead. A run whose signs of
// life do not reach the store stops well before that: see Beat.
const DeadAfter = time.Minute

// An Entry is one recorded fact about a run.
type Entry struct {
	Kind    Kind      `json:"kind"`
	Time    time.Time `json:"time"`
	Address string    `json:"address,omitempty"` // the resource's address
	Action  string    `json:"action,omitempty"`  // create, delete or update
	IDKey   string    `json:"id_key,omitempty"`  // set when a create completes
	ID      string    `json:"id,omitempty"`      // the import ID
	Lock    string    `json:"lock,omitempty"`    // version 1 only: the ID of the run's lock
	Run     *Header   `json:"run,omitempty"`     // first entry only
}

// A Kind is the kind of an entry.
type Kind string

const (
	Begin    Kind = "begin"    // the run begins
	Locked   Kind = "locked"   // version 1 only: the run has locked the state
	Start    Kind = "start"    // a change of one resource begins
	Complete Kind = "complete" // the change succeeded
	Errored  Kind = "errored"  // the change failed
)

// A Header describes a run.
type Header struct {
	Version     int       `json:"version"` // 2
	ID          string    `json:"id"`
	Stage       string    `json:"stage"`
	Environment string    `json:"environment"`
	Layer       string    `json:"layer"`
	Started     time.Time `json:"started"`

	Who    string `json:"who,omitempty"`    // age recipient of the identity that the run uses
	Commit string `json:"commit,omitempty"` // of the files, if it was given
	Inputs string `json:"inputs,omitempty"` // digest of the files, or of a deploy's inventory

	// Lock is the ID of the lock that the run is about to take. It is recorded before the lock is
	// taken, so that the ID alone proves that a lock belongs to the run. Empty if there is none.
	Lock string `json:"lock,omitempty"`

	// Creates lists the addresses that the run's plan creates. OpenTofu reports a create slightly
	// after it begins, so recover also looks for creates that a killed run never reported.
	Creates []string `json:"creates,omitempty"`

	// Replaces lists the addresses in Creates that replace an existing resource.
	Replaces []string `json:"replaces,omitempty"`
}

// Names of the marker objects. Only their presence counts.
const (
	alive    = "alive"
	ended    = "ended"
	finished = "finished"
)

// folder returns the prefix of all journals of a state. No state key is a prefix of another one,
// because they all end in .tfstate.
func folder(stateKey string) string { return "journal/" + stateKey + "/" }

// folderV1 returns the prefix that version 1 used. In it, layers whose names share a prefix share a
// folder.
func folderV1(stateKey string) string {
	return "journal/" + strings.TrimSuffix(stateKey, ".tfstate") + "/"
}

// folders returns the prefixes of all journals, each once: a key that is not a state's, such as that
// of a deploy, is the same in both versions.
func folders(stateKey string) []string {
	return slices.Compact([]string{folder(stateKey), folderV1(stateKey)})
}

// A Run is the journal of one run.
type Run struct {
	Header
	Entries []Entry

	// Sealed means that the journal is encrypted to others: nothing is known but its marks.
	Sealed bool

	silent time.Duration // time since its last write, in whole seconds
	marks  []string
	keys   []string
}

// Over reports whether there is nothing to recover: the run ended cleanly or never began.
func (r Run) Over() bool {
	return slices.Contains(r.marks, finished) || len(r.Entries) == 0 && !r.Sealed
}

// Live reports whether the run may still be working: its last sign of life is less than deadAfter
// old, and it has not recorded its end.
func (r Run) Live(deadAfter time.Duration) bool {
	return !r.Over() && !r.endedItself() && r.Silent() < deadAfter
}

// endedItself reports whether the run stopped by itself and left its journal. Version 1 deleted its
// sign of life to say so.
func (r Run) endedItself() bool {
	if r.Version == 1 {
		return !slices.Contains(r.marks, alive)
	}
	return slices.Contains(r.marks, ended)
}

// Silent returns the time since the run's last sign of life.
func (r Run) Silent() time.Duration { return max(0, r.silent) }

// Holds reports whether a lock belongs to the run. Only the lock's ID counts.
func (r Run) Holds(lock state.Lock) bool {
	if lock.ID == "" {
		return false
	}
	return r.Lock == lock.ID || slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Kind == Locked && e.Lock == lock.ID })
}

// Runs reads the journals of all runs on a state that are working, were interrupted or left litter,
// ordered by start. All of them must be sealed to the identity.
func Runs(ctx context.Context, store *state.Store, identity secrets.Identity, stateKey string) ([]Run, error) {
	runs, err := Seen(ctx, store, identity, stateKey)
	for _, run := range runs {
		if run.Sealed && err == nil {
			err = fmt.Errorf("read the journal of run %s: %w", run.ID, secrets.ErrOthers)
		}
	}
	return runs, err
}

// Seen is Runs for those who only want to know of the runs: a journal may be sealed to others, as that
// of an apply is to a key that only plans.
func Seen(ctx context.Context, store *state.Store, identity secrets.Identity, stateKey string) ([]Run, error) {
	var runs []Run
	for _, prefix := range folders(stateKey) {
		objects, err := store.List(ctx, prefix)
		if err != nil {
			return nil, err
		}
		at := map[string]int{}
		for _, o := range objects {
			id, name, ok := strings.Cut(strings.TrimPrefix(o.Key, prefix), "/")
			if !ok || strings.Contains(name, "/") {
				continue // belongs to a nested layer, in a version 1 folder
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

// read decrypts the entries of a run, unless nobody needs them any more.
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
			continue // the run has just ended cleanly
		}
		if err != nil {
			return err
		}
		data, err := identity.Open(sealed)
		if errors.Is(err, secrets.ErrOthers) {
			r.Sealed = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("read journal entry %s: %w", key, err)
		}
		for line := range strings.Lines(string(data)) {
			var e Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				return fmt.Errorf("read journal entry %s: %w", key, err)
			}
			if e.Run != nil && e.Run.ID == r.ID {
				r.Header = *e.Run
			}
			r.Entries = append(r.Entries, e)
		}
	}
	return nil
}

// start returns the time of the first entry, even if the run's header is gone.
func (r Run) start() time.Time {
	if len(r.Entries) > 0 {
		return r.Entries[0].Time
	}
	return time.Time{}
}

// Remove deletes a run's journal. It first marks the run as finished, so if Remove is killed
// halfway it leaves litter and nothing that looks interrupted.
func Remove(ctx context.Context, store *state.Store, run Run) error {
	if len(run.keys) == 0 {
		return nil
	}
	return removeAll(ctx, store, path.Dir(run.keys[0])+"/", run.keys)
}

// removeAll deletes the objects of a folder. It writes the "finished" mark first and deletes it
// last.
func removeAll(ctx context.Context, store *state.Store, folder string, keys []string) error {
	last := folder + finished
	if err := store.Write(ctx, last, []byte("ended cleanly\n")); err != nil {
		return err
	}
	for _, key := range append(slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == last }), last) {
		if err := store.Remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}
