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

// Save looks for the state that tofu could not write to the store. Tofu writes it to a file,
// or tells it as an event where there is no room for one; the file may then be cut off, so the
// event comes first. The state is sealed once more and kept beside the result, and in the
// store if that takes it.
func (r *Layer) Save(ctx context.Context) (lost bool, err error) {
	data := []byte(r.Dumped)
	if data == nil {
		data, err = r.Folder().Read(r.Inside(filepath.Join(r.Dir, "errored.tfstate")))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	sealed, err := secrets.Envelope(data, r.Recipients)
	if err != nil {
		return true, err
	}
	folder := filepath.Join(r.Out, "recovery")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return true, err
	}
	if err := os.WriteFile(filepath.Join(folder, r.LostName()), sealed, 0o644); err != nil {
		return true, err
	}
	if r.Store != nil {
		if err := r.Store.Write(ctx, r.lostKey()+r.ID+".age", sealed); err != nil {
			r.Say("%s: the store takes no copy of the lost state either: keep recovery/%s", r.Name, r.LostName())
		}
	}
	return true, nil
}

// LostName is the file of a lost state in recovery/.
func (r *Layer) LostName() string { return r.FileName() + ".tfstate.age" }

// lostKey is the folder in the store of what was lost of a state.
func (r *Layer) lostKey() string { return "recovery/" + r.Key + "/" }

// A Lost is one that a run could not write.
type Lost struct {
	name, key string // key: empty for one that came with From
	sealed    []byte
}

// List are those that the store or From has of the root.
func (r *Layer) List(ctx context.Context) (found []Lost, err error) {
	if r.From != "" {
		path := filepath.Join(r.From, "recovery", r.LostName())
		sealed, err := os.ReadFile(path)
		if err == nil {
			found = append(found, Lost{name: "recovery/" + r.LostName(), sealed: sealed})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	objects, err := r.Store.List(ctx, r.lostKey())
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		sealed, err := r.Store.Read(ctx, o.Key)
		if err != nil {
			return nil, err
		}
		found = append(found, Lost{o.Key, o.Key, sealed})
	}
	return found, nil
}

// Restore puts lost states back into the store, if they follow on what is there. The
// caller has the lock.
func (r *Layer) Restore(ctx context.Context, lost []Lost) error {
	for _, one := range lost {
		data, err := r.Identity.Open(one.sealed)
		if err != nil {
			return refusal.New(IdentityHint, "%s cannot be opened: %v", one.name, err)
		}
		if err := r.putBack(ctx, one.name, data); err != nil {
			return err
		}
		if one.key != "" {
			if err := r.Store.Remove(ctx, one.key); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBack writes one lost state, unless the store has it or a later one.
func (r *Layer) putBack(ctx context.Context, name string, data []byte) error {
	lost, err := state.ReadStamp(name, data)
	if err != nil {
		return err
	}
	kept, err := r.Store.Stamp(ctx, r.Key)
	switch {
	case errors.Is(err, state.ErrNone):
	case err != nil:
		return err
	case kept.Lineage != lost.Lineage:
		return refusal.New("compare them by hand: see docs/recover.md", "%s is of another lineage than the state of %s in the store", name, r.Name)
	case kept.Serial >= lost.Serial:
		fmt.Fprintf(&r.Report, "%s: %s is not newer than the state in the store (serial %d, there %d): left alone\n", r.Name, name, lost.Serial, kept.Serial)
		return nil
	}
	if err := r.Store.Write(ctx, r.Key, data); err != nil {
		return err
	}
	fmt.Fprintf(&r.Report, "%s: %s is the state again, serial %d\n", r.Name, name, lost.Serial)
	return nil
}
