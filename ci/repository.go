package main

import (
	"context"
	"errors"

	"dagger/slipway/internal/dagger"
)

// repository is the one that a call works on.
//
// Called by its git address, `-m github.com/…`, the module is given its own repository as
// the default of `source`. To check or apply the examples there would look like success.
func (m *Slipway) repository() (*dagger.Directory, error) {
	if m.Fetched && m.SourceIsOurs {
		return nil, errors.New("the module was called by its address and was given no repository of yours to work on\n" +
			"hint: call it with --source=. or, once, run dagger init --blueprint=ADDRESS in your repository and leave -m away")
	}
	return m.Source, nil
}

// isOurs reports whether source is the repository that this module is in.
func isOurs(ctx context.Context, source *dagger.Directory) (bool, error) {
	const name = "dagger.json"
	there, err := source.Exists(ctx, name)
	if err != nil || !there {
		return false, err
	}
	theirs, err := source.File(name).Contents(ctx)
	if err != nil {
		return false, err
	}
	ours, err := moduleRoot().File(name).Contents(ctx)
	return ours == theirs, err
}

// moduleRoot has what dagger.json lists in `include`, which comes with the module wherever that is
// loaded. The module's source is ci/, one folder below.
func moduleRoot() *dagger.Directory { return dag.CurrentModule().Source().Directory("..") }
