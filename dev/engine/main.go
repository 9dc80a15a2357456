// Command engine gives a machine a Dagger engine of the pinned version.
//
// If an engine already responds, or Docker can start one, it says so and uses that. On a bare
// Debian machine it builds Dagger from Go modules and its root from Debian packages, and runs the
// engine as one container with its own root, mounts, processes and network. On the host it only
// leaves the cache folder and, while it runs, the run folder. The images that Slipway pins are
// built in the same way and served from a registry on loopback.
//
// Read up.go first; each other file contains one part. Package build makes the files, and package console talks to
// the user.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"slipway/dev/engine/console"
)

const usage = `usage: engine VERB

  up      find an engine or build and start one, then pick its image pins in .env
  down    stop the engine and remove its mounts, processes and network
  status  show which engine is used and whether it responds
  logs    print the log of this machine's engine
  env     print the export lines that connect a shell to the engine
  clean   stop the engine and delete the cache folder

  cluster        build Talos nodes if they are not built, switch on cp-1 and worker-1 beside the engine, and push examples/fleet
  node on NAME   switch a node on: cp-1 to cp-9, worker-1 to worker-9
  node off NAME  cut its power; its disk stays as it is
  node wipe NAME cut its power and empty its disk
  push FOLDER NAME:TAG  push a folder to the registry, as an artifact that Flux on the nodes reads, or a chart of Helm

  apiserver      build what tests need for a Kubernetes without nodes, into .slipway/kubernetes

settings, from the environment:
  SLIPWAY_CACHE_DIR      cache of built files     (default: ~/.cache/slipway)
  SLIPWAY_RUN_DIR        the running engine       (default: /run/slipway)
  SLIPWAY_REGISTRY_PORT  the registry on loopback (default: 5077)
  SLIPWAY_STORE_GB       limit of the engine's store in GB (default: 20)
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "engine: error: %v\n", err)
		var r *console.Refusal
		if errors.As(err, &r) {
			fmt.Fprintf(os.Stderr, "engine: hint: %s\n", r.Hint)
			os.Exit(3)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	s, err := readSettings()
	if err != nil {
		return err
	}
	if len(args) == 3 && args[0] == "node" {
		return node(ctx, s, args[1], args[2])
	}
	if len(args) == 3 && args[0] == "push" {
		return push(ctx, s, args[1], args[2])
	}
	if len(args) != 1 {
		fmt.Fprint(os.Stderr, usage)
		return console.Refuse("run `make help` for the usual commands", "expected one verb, got %d arguments", len(args))
	}
	switch args[0] {
	case "up":
		return up(ctx, s)
	case "down":
		return down(ctx, s)
	case "status":
		return status(ctx, s)
	case "logs":
		return logs(s)
	case "env":
		return printEnv(ctx, s)
	case "clean":
		return clean(ctx, s)
	case "cluster":
		return startCluster(ctx, s)
	case "apiserver":
		return apiServer(ctx, s)
	default:
		fmt.Fprint(os.Stderr, usage)
		return console.Refuse("run `make help` for the usual commands", "unknown verb %q", args[0])
	}
}
