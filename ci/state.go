package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Output shows the outputs of an environment, the sensitive ones by name only.
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

// StateList shows the addresses of what the state holds.
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

// Unlock names the holder of a lock, and takes away the lock of a dead one.
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
	// The lock to take away though nothing shows that its holder is dead.
	//
	// +optional
	lockID string,
) (string, error) {
	return m.call(ctx, env, "unlock", "--layer="+layer, "--lock-id="+lockID)
}

// Recover brings state and world together after an interrupted run.
//
// It tells what was made and what was in flight, takes the former into the state,
// and the lock of the dead run away.
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
	// What the interrupted run left in /out, for a state that the store did not take.
	//
	// +optional
	from *dagger.Directory,
	// Addresses that it could not account for and that you have looked for, with commas between.
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
