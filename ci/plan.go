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
	// Keep the sealed plan in the state's bucket, for an apply of what was reviewed.
	//
	// +optional
	keep bool,
	// Commit of the files, for the record.
	//
	// +optional
	commit string,
	// Commit that they are to be merged into, for the record.
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

// PlanFiles makes a plan and returns what it leaves: the sealed plan, the summary and the result.
//
// Follow it by `export --path=.slipway/plan`, and later by `apply --plan=.slipway/plan`. A plan that
// failed leaves its result, too.
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
	// Keep the sealed plan in the state's bucket, for an apply of what was reviewed.
	//
	// +optional
	keep bool,
	// Commit of the files, for the record.
	//
	// +optional
	commit string,
	// Commit that they are to be merged into, for the record.
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
