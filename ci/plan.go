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
	o, err := m.planned(ctx, env, layer, keep, commit, base)
	if err != nil {
		return "", err
	}
	return o.report, nil
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
	o, err := m.planned(ctx, env, layer, keep, commit, base)
	if o == nil {
		return nil, err
	}
	return o.out, nil
}

func (m *Slipway) planned(ctx context.Context, env, layer string, keep bool, commit, base string) (*outcome, error) {
	t, err := m.target(ctx, env)
	if err != nil {
		return nil, err
	}
	flags := []string{"--layer=" + layer, "--commit=" + commit, "--base=" + base}
	if keep {
		flags = append(flags, "--keep")
	}
	return t.runUncached(ctx, "plan", flags...)
}
