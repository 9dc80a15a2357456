package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"slipway/internal/refusal"
	"slipway/internal/secrets"
	"slipway/internal/state"
)

// rescue looks for the state that tofu could not write to the store. Tofu writes it to a file,
// or tells it as an event where there is no room for one; the file may then be cut off, so the
// event comes first. The state is sealed once more and kept beside the result, and in the
// store if that takes it.
func (r *root) rescue(ctx context.Context) (lost bool, err error) {
	data := []byte(r.dumped)
	if data == nil {
		data, err = r.workFolder().Read(r.inWork(filepath.Join(r.dir, "errored.tfstate")))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
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

// A lostState is one that a run could not write.
type lostState struct {
	name, key string // key: empty for one that came with From
	sealed    []byte
}

// lostStates are those that the store or From has of the root.
func (r *root) lostStates(ctx context.Context) (found []lostState, err error) {
	if r.From != "" {
		path := filepath.Join(r.From, "recovery", r.lostName())
		sealed, err := os.ReadFile(path)
		if err == nil {
			found = append(found, lostState{name: "recovery/" + r.lostName(), sealed: sealed})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	objects, err := r.store.List(ctx, r.lostKey())
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		sealed, err := r.store.Read(ctx, o.Key)
		if err != nil {
			return nil, err
		}
		found = append(found, lostState{o.Key, o.Key, sealed})
	}
	return found, nil
}

// restore puts lost states back into the store, if they follow on what is there. The
// caller has the lock.
func (r *root) restore(ctx context.Context, lost []lostState) error {
	for _, one := range lost {
		data, err := r.identity.Open(one.sealed)
		if err != nil {
			return refusal.New(identityHint, "%s cannot be opened: %v", one.name, err)
		}
		if err := r.putBack(ctx, one.name, data); err != nil {
			return err
		}
		if one.key != "" {
			if err := r.store.Remove(ctx, one.key); err != nil {
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
	kept, err := r.store.Stamp(ctx, r.key)
	switch {
	case errors.Is(err, state.ErrNone):
	case err != nil:
		return err
	case kept.Lineage != lost.Lineage:
		return refusal.New("compare them by hand: see docs/recover.md", "%s is of another lineage than the state of %s in the store", name, r.name)
	case kept.Serial >= lost.Serial:
		fmt.Fprintf(&r.report, "%s: %s is not newer than the state in the store (serial %d, there %d): left alone\n", r.name, name, lost.Serial, kept.Serial)
		return nil
	}
	if err := r.store.Write(ctx, r.key, data); err != nil {
		return err
	}
	fmt.Fprintf(&r.report, "%s: %s is the state again, serial %d\n", r.name, name, lost.Serial)
	return nil
}
