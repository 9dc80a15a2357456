package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"slipway/internal/refusal"
	"slipway/internal/secrets"
	"slipway/internal/state"
)

// rescue looks for the state that tofu could not write to the store. It seals it
// once more and keeps it beside the result, and in the store if that takes it.
func (r *root) rescue(ctx context.Context) (lost bool, err error) {
	path := filepath.Join(r.dir, "errored.tfstate")
	data, err := r.workFolder().Read(r.inWork(path))
	if errors.Is(err, fs.ErrNotExist) {
		// Without room for the file, tofu prints it instead.
		data, err = printedState(r.noise.Bytes()), nil
	}
	if err != nil || data == nil {
		return false, err
	}
	sealed, err := secrets.Envelope(data, r.recipients)
	if err != nil {
		return true, err
	}
	folder := filepath.Join(r.Out, "recovery")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return true, err
	}
	if err := os.WriteFile(filepath.Join(folder, r.lostName()), sealed, 0o644); err != nil {
		return true, err
	}
	if r.store != nil {
		if err := r.store.Write(ctx, r.lostKey()+r.RunID+".age", sealed); err != nil {
			r.say("%s: the store takes no copy of the lost state either: keep recovery/%s", r.name, r.lostName())
		}
	}
	return true, nil
}

// lostName is the file of a lost state in recovery/.
func (r *root) lostName() string { return r.fileName() + ".tfstate.age" }

// lostKey is the folder in the store of what was lost of a state.
func (r *root) lostKey() string { return "recovery/" + r.key + "/" }

// printedState finds a sealed state in what tofu printed, or returns nil.
func printedState(text []byte) []byte {
	for at := bytes.IndexByte(text, '{'); at >= 0; {
		var raw json.RawMessage
		if json.NewDecoder(bytes.NewReader(text[at:])).Decode(&raw) == nil {
			if _, err := state.ReadStamp("", raw); err == nil {
				return raw
			}
		}
		next := bytes.IndexByte(text[at+1:], '{')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return nil
}

// restore puts lost states back into the store, under the lock and only if they
// follow on what is there.
func (r *root) restore(ctx context.Context) error {
	type lostState struct {
		name, key string // key: empty for one that came with From
		sealed    []byte
	}
	var found []lostState
	if r.From != "" {
		path := filepath.Join(r.From, "recovery", r.lostName())
		sealed, err := os.ReadFile(path)
		if err == nil {
			found = append(found, lostState{name: "recovery/" + r.lostName(), sealed: sealed})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	objects, err := r.store.List(ctx, r.lostKey())
	if err != nil {
		return err
	}
	for _, o := range objects {
		sealed, err := r.store.Read(ctx, o.Key)
		if err != nil {
			return err
		}
		found = append(found, lostState{o.Key, o.Key, sealed})
	}
	for _, lost := range found {
		data, err := r.identity.Open(lost.sealed)
		if err != nil {
			return refusal.New(identityHint, "%s cannot be opened: %v", lost.name, err)
		}
		if err := r.putBack(ctx, lost.name, data); err != nil {
			return err
		}
		if lost.key != "" {
			if err := r.store.Remove(ctx, lost.key); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBack writes one lost state, unless the store has it or a later one.
func (r *root) putBack(ctx context.Context, name string, data []byte) error {
	lost, err := state.ReadStamp(name, data)
	if err != nil {
		return err
	}
	lock := state.Lock{ID: r.RunID, Operation: "recover", Who: "slipway" + holder(), Created: r.begun.UTC(), Path: r.key}
	other, err := r.store.Lock(ctx, r.key, lock)
	if err != nil {
		return err
	}
	if other != nil {
		return r.locked("the state of %s is locked by %s", r.name, describeLock(other))
	}
	unlock := func() error { return r.store.Unlock(context.WithoutCancel(ctx), r.key, lock.ID) }
	kept, err := r.store.Stamp(ctx, r.key)
	switch {
	case errors.Is(err, state.ErrNone):
	case err != nil:
		return errors.Join(err, unlock())
	case kept.Lineage != lost.Lineage:
		return errors.Join(refusal.New("compare them by hand: see docs/recover.md",
			"%s is of another lineage than the state of %s in the store", name, r.name), unlock())
	case kept.Serial >= lost.Serial:
		fmt.Fprintf(&r.report, "%s: %s is not newer than the state in the store (serial %d, there %d): left alone\n", r.name, name, lost.Serial, kept.Serial)
		return unlock()
	}
	if err := r.store.Write(ctx, r.key, data); err != nil {
		return errors.Join(err, unlock())
	}
	fmt.Fprintf(&r.report, "%s: %s is the state again, serial %d\n", r.name, name, lost.Serial)
	return unlock()
}
