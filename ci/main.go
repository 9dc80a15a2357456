// Slipway takes a folder of OpenTofu code and encrypted credentials to running
// infrastructure: the same call on a laptop, in CI and in a nightly job.
package main

import "dagger/slipway/internal/dagger"

// Slipway contains what all functions share. Defaults for its arguments can be set in .env, under
// the argument's name in capitals.
type Slipway struct {
	// +private
	Source *dagger.Directory
	// +private
	AgeKey *dagger.Secret
	// +private
	PinsFile *dagger.File
	// +private
	Goproxy string
	// +private
	LocalData string
}

func New(
	// Repository with environments/, modules/ and credentials/.
	//
	// +defaultPath="/"
	// +ignore=[".git", ".slipway", ".env", "**/.terraform", "**/node_modules", "**/*.tfstate*", "ci", "cmd", "internal", "dev", "e2e", "docs"]
	source *dagger.Directory,
	// Age identity that decrypts the credentials: AGEKEY=file://… in .env.
	//
	// +optional
	ageKey *dagger.Secret,
	// Pins file with the images, for a machine that serves its own.
	//
	// +optional
	pins *dagger.File,
	// Go module proxy for building the stage runner, if not the public one.
	//
	// +optional
	goproxy string,
	// Volume with the data of environment local: each checkout has its own.
	//
	// +default="slipway-local"
	localData string,
) *Slipway {
	if pins == nil {
		pins = dag.CurrentModule().Source().File("pins.env")
	}
	return &Slipway{Source: source, AgeKey: ageKey, PinsFile: pins, Goproxy: goproxy, LocalData: localData}
}
