// Slipway takes a folder of OpenTofu code and encrypted credentials to running
// infrastructure: the same call on a laptop, in CI and in a nightly job.
package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Slipway contains what all functions share. Defaults for its arguments can be set in .env, under
// the argument's name in capitals.
type Slipway struct {
	// +private
	Source *dagger.Directory
	// +private
	AgeKey *dagger.Secret
	// +private
	SourceIsOurs bool // source is the repository that this module is in
	// +private
	Fetched bool // the module was loaded by its git address
	// +private
	PinsFile string // its text
	// +private
	Goproxy string
	// +private
	LocalData string
	// +private
	Log string
	// +private
	Deadline string
}

// New is cached by what it is given. What each call would otherwise look up again belongs here.
func New(
	ctx context.Context,
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
	// What deploy shows while it runs: a line per task (tasks), a line per play (plays), or all that Ansible prints (debug).
	//
	// +default="tasks"
	log string,
	// Time after which a call asks its tools to stop, such as 2h.
	//
	// +default="55m"
	deadline string,
) (*Slipway, error) {
	if pins == nil {
		pins = dag.CurrentModule().Source().File("pins.env")
	}
	text, err := pins.Contents(ctx)
	if err != nil {
		return nil, err
	}
	ours, err := isOurs(ctx, source)
	if err != nil {
		return nil, err
	}
	fetched, err := dag.CurrentModule().Source().Exists(ctx, "by-git")
	if err != nil {
		return nil, err
	}
	return &Slipway{
		Source: source, SourceIsOurs: ours, Fetched: fetched,
		AgeKey: ageKey, PinsFile: text, Goproxy: goproxy, LocalData: localData, Log: log, Deadline: deadline,
	}, nil
}
