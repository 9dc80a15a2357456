package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"slipway/dev/engine/build"
	"slipway/dev/engine/console"
)

// settings say where things are and how large they may grow.
type settings struct {
	repo    string      // the checkout, with ci/pins.env and .env
	cache   build.Cache // everything built or downloaded; safe to delete while the engine is down
	run     string      // the running engine: its socket, mounts and log
	port    int         // port of the registry, on 127.0.0.1
	storeGB int         // size at which the engine starts to delete what it can recreate
}

// The parts of the running engine. The socket has its own folder, because it is mounted into the
// engine's root.
func (s settings) socket() string     { return filepath.Join(s.run, "socket", "engine.sock") }
func (s settings) runnerHost() string { return "unix://" + s.socket() }
func (s settings) logFile() string    { return s.engine().Log() }

// The parts of the cache that other programs use.
func (s settings) bin() string       { return s.cache.Path("bin") }
func (s settings) daggerCLI() string { return filepath.Join(s.bin(), "dagger") }

// The two pins files: the upstream images, and those that this machine built.
func (s settings) upstreamPins() string { return filepath.Join(s.repo, "ci", "pins.env") }
func (s settings) localPins() string    { return filepath.Join(s.repo, localPinsPath) }
func (s settings) dotEnv() string       { return filepath.Join(s.repo, ".env") }

// localPinsPath is relative to the repository, as written in .env.
const localPinsPath = ".slipway/pins.env"

func readSettings() (settings, error) {
	repo, err := repository()
	if err != nil {
		return settings{}, err
	}
	cache := os.Getenv("SLIPWAY_CACHE_DIR")
	s := settings{repo: repo, run: os.Getenv("SLIPWAY_RUN_DIR")}
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return settings{}, console.Refuse("export SLIPWAY_CACHE_DIR=/var/cache/slipway", "no cache folder: %v", err)
		}
		cache = filepath.Join(user, "slipway")
	}
	if s.run == "" {
		s.run = "/run/slipway"
	}
	for _, dir := range []*string{&cache, &s.run} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return settings{}, err
		}
	}
	s.cache = build.Cache(cache)
	// A Unix socket's path has at most 107 bytes.
	if len(s.socket()) > 107 {
		return settings{}, console.Refuse("export SLIPWAY_RUN_DIR=/run/slipway", "run folder %q is too long for a socket", s.run)
	}
	if s.port, err = number("SLIPWAY_REGISTRY_PORT", 5077, 1, 65535); err != nil {
		return settings{}, err
	}
	s.storeGB, err = number("SLIPWAY_STORE_GB", 20, 5, 1<<20)
	return s, err
}

// number reads a whole number from the environment variable name.
func number(name string, otherwise, least, most int) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, console.Refuse("export "+name+"="+strconv.Itoa(otherwise), "%s is %q, not a number from %d to %d", name, text, least, most)
	}
	return n, nil
}

// repository finds the checkout that contains the working directory.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "dagger.json"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", console.Refuse("cd to your checkout of Slipway", "no dagger.json in %s or above it", start)
		}
	}
}
