package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Output shows the outputs of an environment, sensitive ones by name only.
//
// +cache="never"
func (m *Slipway) Output(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only this layer.
	//
	// +optional
	layer string,
) (string, error) {
	return m.call(ctx, env, "output", "--layer="+layer)
}

// StateList shows the addresses of the resources in the state.
//
// +cache="never"
func (m *Slipway) StateList(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only this layer.
	//
	// +optional
	layer string,
) (string, error) {
	return m.call(ctx, env, "state-list", "--layer="+layer)
}

// Unlock shows the holder of a lock, and removes the lock of a dead run.
//
// +cache="never"
func (m *Slipway) Unlock(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only this layer.
	//
	// +optional
	layer string,
	// ID of a lock to remove although its holder is not known to be dead.
	//
	// +optional
	lockID string,
) (string, error) {
	return m.call(ctx, env, "unlock", "--layer="+layer, "--lock-id="+lockID)
}

// Recover makes state and cloud agree again after an interrupted run.
//
// It reports what was created and what was in flight, imports the former into the state, and
// removes the dead run's lock.
//
// +cache="never"
func (m *Slipway) Recover(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only this layer.
	//
	// +optional
	layer string,
	// Results of the interrupted run, with a state that could not be stored.
	//
	// +optional
	from *dagger.Directory,
	// Comma-separated addresses that it could not account for and that you have looked for in the
	// cloud.
	//
	// +optional
	seen string,
) (string, error) {
	t, err := m.target(ctx, env)
	if err != nil {
		return "", err
	}
	flags := []string{"--layer=" + layer, "--seen=" + seen}
	if from != nil {
		t.container = t.container.WithMountedDirectory("/from", from)
		flags = append(flags, "--from=/from")
	}
	return t.report(ctx, "recover", flags...)
}
