package main

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
)

// daggerVersion of CLI, engine and SDK; dagger.json names the same one.
const daggerVersion = "v0.19.10"

//go:embed distconsts/distconsts.go
var distconsts string

// daggerPrograms are the CLI, the engine, and what the engine's root needs of
// Dagger. Two modules nested in Dagger's repository are missing from what the
// proxy serves: the Go SDK, which is published on its own, and distconsts, for
// which this program brings its own.
var daggerPrograms = goProgram{
	module: goModule{
		path:    "github.com/dagger/dagger",
		version: daggerVersion,
		sum:     "h1:9/UfBZUc7Bx5bcEZT5PlgPQDbkojzO0/4E7cn+/PEAk=",
	},
	packages: []string{"./cmd/dagger", "./cmd/engine", "./cmd/codegen", "./cmd/init", "./cmd/dnsname"},
	ldflags: "-X github.com/dagger/dagger/engine.Version=" + daggerVersion +
		" -X github.com/dagger/dagger/engine.Tag=" + daggerVersion,
	modEdits: []string{"-dropreplace=dagger.io/dagger", "-require=dagger.io/dagger@" + daggerVersion},
	sums: []string{
		"dagger.io/dagger " + daggerVersion + " h1:farO4CggSoWCId92QeZWKpP5mY9YwsVhNYuUzpqsKqw=",
		"dagger.io/dagger " + daggerVersion + "/go.mod h1:BjAJWl4Lx7XRW7nooNjBi0ZAC5Ici2pkthkdBIZdbTI=",
	},
	files: map[string]string{
		"engine/distconsts/go.mod":        "module github.com/dagger/dagger/engine/distconsts\n\ngo 1.24.4\n",
		"engine/distconsts/distconsts.go": distconsts,
	},
	patches: []patch{shareCacheMounts},
}

// shareCacheMounts has sessions at once share the mount of a cache volume also
// after the engine was started again with its store.
//
// As it starts, the engine looks whether a crash left something on the mounts that
// it can write to, and by mistake keeps what it looked at for use. A cache volume
// with a base, as Go's module cache is while a module is loaded, is then mounted
// once for each session instead of once for all. The kernel refuses the second one
// ("overlay with incompat feature 'volatile' cannot be mounted"), and the call that
// needs it fails. The option volatile is no more than how it shows: without it, both
// would write over each other.
//
// v0.19.11 has it right: https://github.com/dagger/dagger/pull/11795
var shareCacheMounts = patch{
	path: "internal/buildkit/cache/refs.go",
	old:  "mntable, err := cr.mount(ctx)\n",
	new:  "mntable, err := cr.mount(ctx)\n\tcr.mountCache = nil\n",
}

// dagger holds the programs dagger, engine, codegen, init and dnsname.
func (s settings) dagger() product {
	return product{
		name:   "dagger",
		inputs: daggerPrograms.inputs(),
		make:   func(ctx context.Context, dir string) error { return daggerPrograms.build(ctx, s, dir) },
	}
}

// linkCLI puts the CLI of the product in dir where `engine env` points PATH.
func (s settings) linkCLI(dir string) error {
	if err := os.MkdirAll(s.bin(), 0o755); err != nil {
		return err
	}
	partial := s.daggerCLI() + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(dir, "dagger"), partial); err != nil {
		return err
	}
	return os.Rename(partial, s.daggerCLI())
}
