package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Plan shows what an apply would change: addresses, attributes, and the values that are safe to show.
//
// +cache="never"
func (m *Slipway) Plan(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only this layer.
	//
	// +optional
	layer string,
	// Store the sealed plan in the state's bucket, to apply it after its review.
	//
	// +optional
	keep bool,
	// Commit of the files, for the record.
	//
	// +optional
	commit string,
	// Commit into which they are to be merged, for the record.
	//
	// +optional
	base string,
) (string, error) {
	_, report, err := m.planned(ctx, env, layer, keep, commit, base)
	return report, err
}

// PlanFiles makes a plan and returns its files: the sealed plan, the summary and the result.
//
// Append `export --path=.slipway/plan`, and later use `apply --plan=.slipway/plan`. A failed plan
// also returns its result.
//
// +cache="never"
func (m *Slipway) PlanFiles(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only this layer.
	//
	// +optional
	layer string,
	// Store the sealed plan in the state's bucket, to apply it after its review.
	//
	// +optional
	keep bool,
	// Commit of the files, for the record.
	//
	// +optional
	commit string,
	// Commit into which they are to be merged, for the record.
	//
	// +optional
	base string,
) (*dagger.Directory, error) {
	done, _, err := m.planned(ctx, env, layer, keep, commit, base)
	if done == nil {
		return nil, err
	}
	return done.Directory("/out"), nil
}

func (m *Slipway) planned(ctx context.Context, env, layer string, keep bool, commit, base string) (*dagger.Container, string, error) {
	container, err := m.stage(ctx, env)
	if err != nil {
		return nil, "", err
	}
	args := []string{"plan", "--layer=" + layer, "--commit=" + commit, "--base=" + base}
	if keep {
		args = append(args, "--keep")
	}
	return m.effect(ctx, env, container, args...)
}

// onEnvironment runs a stage on an environment and returns its report.
func (m *Slipway) onEnvironment(ctx context.Context, env string, args ...string) (string, error) {
	container, err := m.stage(ctx, env)
	if err != nil {
		return "", err
	}
	_, report, err := m.effect(ctx, env, container, args...)
	return report, err
}
