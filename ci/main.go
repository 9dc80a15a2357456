// Slipway takes a folder of OpenTofu code and encrypted credentials to running
// infrastructure: the same call on a laptop, in CI and in a nightly job.
package main

import "dagger/slipway/internal/dagger"

// Slipway holds what all functions share. Defaults for its arguments can stand
// in .env, under the argument's name in capitals.
type Slipway struct {
	// +private
	PinsFile *dagger.File
	// +private
	RunnerSource *dagger.Directory
}

func New(
	// Pins file that names the images, for a machine that serves its own.
	//
	// +optional
	pins *dagger.File,
	// Go sources of the stage runner. They come with the module: leave this alone.
	//
	// +defaultPath="/"
	// +ignore=["*", "!go.mod", "!go.sum", "!cmd", "!internal", "**/*_test.go", "**/testdata"]
	runnerSource *dagger.Directory,
) *Slipway {
	if pins == nil {
		pins = dag.CurrentModule().Source().File("pins.env")
	}
	return &Slipway{PinsFile: pins, RunnerSource: runnerSource}
}
