package main

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"

	"slipway/dev/engine/build"
)

// daggerVersion is the version of CLI, engine and SDK; dagger.json has the same one.
const daggerVersion = "v0.19.10"

//go:embed distconsts/distconsts.go
var distconsts string

// daggerPrograms are the CLI, the engine, and Dagger's other programs in the engine's root. The
// proxy's module lacks two modules nested in Dagger's repository: the Go SDK, which is published
// separately, and distconsts, which this program provides.
var daggerPrograms = build.GoProgram{
	Module: build.GoModule{
		Path:    "github.com/dagger/dagger",
		Version: daggerVersion,
		Sum:     "h1:9/UfBZUc7Bx5bcEZT5PlgPQDbkojzO0/4E7cn+/PEAk=",
	},
	Packages: []string{"./cmd/dagger", "./cmd/engine", "./cmd/codegen", "./cmd/init", "./cmd/dnsname"},
	LDFlags: "-X github.com/dagger/dagger/engine.Version=" + daggerVersion +
		" -X github.com/dagger/dagger/engine.Tag=" + daggerVersion,
	ModEdits: []string{"-dropreplace=dagger.io/dagger", "-require=dagger.io/dagger@" + daggerVersion},
	Sums: []string{
		"dagger.io/dagger " + daggerVersion + " h1:farO4CggSoWCId92QeZWKpP5mY9YwsVhNYuUzpqsKqw=",
		"dagger.io/dagger " + daggerVersion + "/go.mod h1:BjAJWl4Lx7XRW7nooNjBi0ZAC5Ici2pkthkdBIZdbTI=",
	},
	Files: map[string]string{
		"engine/distconsts/go.mod":        "module github.com/dagger/dagger/engine/distconsts\n\ngo 1.24.4\n",
		"engine/distconsts/distconsts.go": distconsts,
	},
	Patches: []build.Patch{shareCacheMounts, awaitSession, takeRequests, busyIsNotDead},
}

// shareCacheMounts makes concurrent sessions share the mount of a cache volume even after the
// engine was restarted with its store.
//
// At startup, the engine checks whether a crash left something on its writable mounts, and by
// mistake keeps the mounts it checked for later use. A cache volume with a base, such as Go's
// module cache while a module is loaded, is then mounted once per session instead of once for all.
// The kernel refuses the second mount ("overlay with incompat feature 'volatile' cannot be
// mounted"), and the call that needs it fails. The option volatile only makes the fault visible:
// without it, both mounts would overwrite each other.
//
// Fixed in v0.19.11: https://github.com/dagger/dagger/pull/11795
var shareCacheMounts = build.Patch{
	Path: "internal/buildkit/cache/refs.go",
	Old:  "mntable, err := cr.mount(ctx)\n",
	New:  "mntable, err := cr.mount(ctx)\n\tcr.mountCache = nil\n",
}

// awaitSession has the engine register a caller's session before it answers the caller's first query.
//
// The engine tells the CLI that its session is accepted, and registers it afterwards. On busy cores, the
// first query arrives in between and fails with "failed to get requester session: session for … not found".
//
// Fixed in v0.21.0: https://github.com/dagger/dagger/pull/13108
var awaitSession = build.Patch{
	Path: "engine/server/session.go",
	Old:  "\tschema, err := client.deps.Schema(ctx)\n",
	New: `	if _, err := client.getClientCaller(client.clientID); err != nil { // waits up to 10 s
		return gqlErr(fmt.Errorf("waiting for the client's session: %w", err), http.StatusInternalServerError)
	}
	schema, err := client.deps.Schema(ctx)
`,
}

// takeRequests has the engine read all of the CLI's requests during the export of a folder.
//
// The engine stops reading when 128 requested files wait to be sent. With some 6,500 files requested, the
// CLI's requests have used up the window of their HTTP/2 stream. From then on, what the CLI grants the
// engine to send waits in the CLI behind its next request, because golang.org/x/net/http2 sends the frames
// of a stream in order. The engine uses up its own window, and both wait for ever. A handle takes 8 bytes.
//
// Not fixed upstream as of August 2026: https://github.com/dagger/dagger/issues/6355 and
// https://github.com/moby/buildkit/issues/2950
var takeRequests = build.Patch{
	Path: "internal/fsutil/send.go",
	Old:  "make(chan *sendHandle, 128)",
	New:  "make(chan *sendHandle, 1<<20)",
}

// busyIsNotDead gives the CLI ten minutes instead of 30 seconds to answer a health check.
//
// After two checks without an answer, the engine ends the session, and the CLI waits for ever. A CLI on
// busy cores can be that slow. One that is gone has closed its connection, which fails the check at once.
//
// Found in the source, and never seen: a session that ends logs a failed health check, too.
// Not fixed upstream as of v0.21.8.
var busyIsNotDead = build.Patch{
	Path: "internal/buildkit/session/grpc.go",
	Old:  "defaultHealthcheckDuration := 30 * time.Second\n",
	New:  "defaultHealthcheckDuration := 10 * time.Minute\n",
}

// dagger is the product with the programs dagger, engine, codegen, init and dnsname.
func (s settings) dagger() build.Product {
	return build.Product{
		Name:   "dagger",
		Inputs: daggerPrograms.Inputs(),
		Make:   func(ctx context.Context, dir string) error { return daggerPrograms.Build(ctx, s.cache, dir) },
	}
}

// linkCLI puts the product's CLI into the folder that `engine env` adds to PATH.
func (s settings) linkCLI(dir string) error {
	if err := os.MkdirAll(s.bin(), 0o755); err != nil {
		return err
	}
	return link(filepath.Join(dir, "dagger"), s.daggerCLI())
}

// link makes a symbolic link, or replaces one, so that no reader sees none.
func link(to, at string) error {
	partial := at + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.Symlink(to, partial); err != nil {
		return err
	}
	return os.Rename(partial, at)
}
