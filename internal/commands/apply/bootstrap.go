package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"slipway/internal/marker"
	"slipway/internal/run"
	"slipway/internal/state"
)

// Bootstrap creates the store of the environment's state, and checks that its locks work. It is
// safe to repeat.
func Bootstrap() run.Command {
	return run.Command{
		Name: "bootstrap", Help: "create the store of the state, and check that its locks work",
		Opens: run.Credentials, Run: bootstrap,
	}
}

func bootstrap(ctx context.Context, r *run.Run) error {
	// Refuses a missing or weak passphrase.
	if _, err := r.Encryption(); err != nil {
		return err
	}
	if r.Store == nil {
		fmt.Fprintf(&r.Report, "nothing to do: the state is stored on the server at %s\n", r.Environment.State.HTTP.Address)
		return nil
	}
	done, err := r.Store.Bootstrap(ctx)
	if err != nil {
		return err
	}
	if done.Created {
		fmt.Fprintf(&r.Report, "created %s\n", r.Store.Name())
	} else {
		fmt.Fprintf(&r.Report, "%s already exists\n", r.Store.Name())
	}
	r.Report.WriteString("lock check passed: in 25 rounds, one of 8 concurrent writers got the lock\n")
	if done.Versions {
		r.Report.WriteString("earlier versions of the state are kept\n")
	} else {
		r.Report.WriteString("earlier versions of the state are not kept: the store has no versioning\n")
	}
	return mark(ctx, r)
}

// mark writes the environment's marker to the store, or updates its proof if the passphrase has
// changed.
func mark(ctx context.Context, r *run.Run) error {
	old, err := r.Store.Read(ctx, r.MarkerKey())
	if err != nil && !errors.Is(err, state.ErrNone) {
		return err
	}
	if err == nil {
		if err := r.CheckMarker(old); err != nil {
			return err
		}
	}
	passphrase := r.Credentials[state.Passphrase]
	if m, err := marker.Read(old); err == nil && m.Version == 2 && m.ProvedBy(passphrase) {
		return nil
	}
	m, err := marker.New(r.Env, passphrase)
	if err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	fmt.Fprintf(&r.Report, "marked it as the store of environment %s\n", r.Env)
	return r.Store.Write(ctx, r.MarkerKey(), data)
}
