// Package rescue saves a state that a run could not write to the store, and restores it.
package rescue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"slipway/internal/fault"
	"slipway/internal/layer"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/workspace"
)

// Save looks for a state that tofu could not write to the store. tofu writes it to a file or, if
// there is no room for a file, prints it as an event. The file may then be incomplete, so the event
// is used first. The state is encrypted and saved in the results and, if possible, in the store.
func Save(ctx context.Context, l *layer.Layer) (lost bool, err error) {
	data := []byte(l.Dumped)
	if data == nil {
		data, err = workspace.Folder(l.Run).Read(workspace.Inside(l.Run, filepath.Join(l.Dir, "errored.tfstate")))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	sealed, err := secrets.Envelope(data, l.Recipients)
	if err != nil {
		return true, err
	}
	if err := l.Leave("recovery/"+FileName(l), sealed); err != nil {
		return true, err
	}
	if l.Store != nil {
		if err := l.Store.Write(ctx, lostKey(l)+l.ID+".age", sealed); err != nil {
			l.Say("%s: the store does not accept a copy of the lost state either: keep recovery/%s", l.Name, FileName(l))
		}
	}
	return true, nil
}

// FileName returns the name of a lost state's file in recovery/.
func FileName(l *layer.Layer) string { return l.FileName() + ".tfstate.age" }

// lostKey returns the prefix in the store for lost states of a state.
func lostKey(l *layer.Layer) string { return "recovery/" + l.Key + "/" }

// A Lost is a state that a run could not write to the store.
type Lost struct {
	name   string
	key    string // key in the store; empty for a file in a run's results
	sealed []byte
}

// List returns the lost states of a layer, from the store and from a run's results in the folder
// from; empty: none.
func List(ctx context.Context, l *layer.Layer, from string) (found []Lost, err error) {
	if from != "" {
		path := filepath.Join(from, "recovery", FileName(l))
		sealed, err := os.ReadFile(path)
		if err == nil {
			found = append(found, Lost{name: "recovery/" + FileName(l), sealed: sealed})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	objects, err := l.Store.List(ctx, lostKey(l))
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		sealed, err := l.Store.Read(ctx, o.Key)
		if err != nil {
			return nil, err
		}
		found = append(found, Lost{o.Key, o.Key, sealed})
	}
	return found, nil
}

// Restore writes lost states back to the store if they are newer than what is there. The caller
// holds the lock.
func Restore(ctx context.Context, l *layer.Layer, lost []Lost) error {
	for _, one := range lost {
		data, err := l.Identity.Open(one.sealed)
		if err != nil {
			return fault.Refuse(run.IdentityHint, "%s cannot be decrypted: %v", one.name, err)
		}
		if err := putBack(ctx, l, one.name, data); err != nil {
			return err
		}
		if one.key != "" {
			if err := l.Store.Remove(ctx, one.key); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBack writes one lost state, unless the store has the same or a later one.
func putBack(ctx context.Context, l *layer.Layer, name string, data []byte) error {
	lost, err := state.ReadStamp(name, data)
	if err != nil {
		return err
	}
	kept, err := l.Store.Stamp(ctx, l.Key)
	switch {
	case errors.Is(err, state.ErrNone):
	case err != nil:
		return err
	case kept.Lineage != lost.Lineage:
		return fault.Refuse("compare them by hand: see docs/recover.md", "the lineage of %s differs from that of the state of %s in the store", name, l.Name)
	case kept.Serial >= lost.Serial:
		fmt.Fprintf(&l.Report, "%s: %s is not newer than the state in the store (serial %d, stored %d): ignored\n", l.Name, name, lost.Serial, kept.Serial)
		return nil
	}
	if err := l.Store.Write(ctx, l.Key, data); err != nil {
		return err
	}
	fmt.Fprintf(&l.Report, "%s: restored %s as the state, serial %d\n", l.Name, name, lost.Serial)
	return nil
}
