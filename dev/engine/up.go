package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"golang.org/x/sync/errgroup"

	"slipway/dev/engine/build"
	"slipway/dev/engine/console"
)

// up leaves the machine with an engine that responds and a .env with the matching pins. It is safe
// to repeat, to interrupt and to run twice at the same time.
func up(ctx context.Context, s settings) error {
	other, err := s.otherEngine(ctx)
	if err != nil {
		return err
	}
	if other != nil {
		console.Say("using %s, and the upstream images", other.what)
		return s.rememberPins("")
	}
	if err := checkMachine(); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	current := s.current(ctx)
	if !current {
		if err := s.build(ctx); err != nil {
			return err
		}
		if err := s.restart(ctx); err != nil {
			return err
		}
	}
	// Another checkout may have started the engine.
	if !current || !s.pinned() {
		done := console.During("push the images to " + s.registryAddress())
		if err := s.publish(ctx); err != nil {
			return err
		}
		done()
	}
	// This is written last, because it means that nothing is left to do.
	if err := build.WriteFile(s.keyFile(), []byte(s.key()), 0o644); err != nil {
		return err
	}
	console.Say("the engine is running: %s", s.runnerHost())
	return s.rememberPins(localPinsPath)
}

// all lists every product, the slowest to build first.
func (s settings) all() []build.Product {
	products := []build.Product{s.dagger()}
	for _, i := range images {
		products = append(products, i.Product(s.cache, s.repo))
	}
	return append(products, s.engineRoot(), s.goSDK())
}

// key changes with everything from which the running engine was started.
func (s settings) key() string {
	keys := []string{s.imagesKey(), strconv.Itoa(s.port), s.engineConfig(), registryConfig()}
	for _, p := range s.all() {
		keys = append(keys, p.Key())
	}
	return build.DigestOf(keys)
}

// imagesKey changes with the images that the registry should serve.
func (s settings) imagesKey() string {
	var keys []string
	for _, i := range append(s.rack().Tools(), images...) {
		keys = append(keys, i.Product(s.cache, s.repo).Key())
	}
	if pins, err := os.ReadFile(s.upstreamPins()); err == nil {
		keys = append(keys, string(pins))
	}
	return build.DigestOf(keys)
}

// keyFile is in the run folder, so it disappears with the engine.
func (s settings) keyFile() string { return filepath.Join(s.run, "key") }

// current reports whether the engine runs, responds, and is what up would start.
func (s settings) current(ctx context.Context) bool {
	started, err := os.ReadFile(s.keyFile())
	if err != nil || string(started) != s.key() {
		return false
	}
	return s.running(ctx) && s.engineAnswers(ctx) && s.registryAnswers(ctx)
}

// engineAnswers reports whether the engine listens on its socket.
func (s settings) engineAnswers(ctx context.Context) bool {
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", s.socket())
	if err != nil {
		return false
	}
	connection.Close()
	return true
}

// build makes or checks every product, two at a time: one mostly compiles while the other mostly
// downloads.
func (s settings) build(ctx context.Context) error {
	if err := s.checkPort(ctx); err != nil {
		return err
	}
	if err := s.prepare(ctx, s.all()); err != nil {
		return err
	}
	lanes, ctx := errgroup.WithContext(ctx)
	lanes.SetLimit(2)
	for _, p := range s.all() {
		lanes.Go(func() error {
			_, err := s.cache.Ensure(ctx, p)
			return err
		})
	}
	return errors.Join(lanes.Wait(), os.RemoveAll(s.cache.Scratch()))
}

// prepare checks that this machine can build these products, and says which it has to.
func (s settings) prepare(ctx context.Context, products []build.Product) error {
	if err := s.emptyScratch(); err != nil {
		return err
	}
	missing := s.missing(products)
	if err := s.checkRoom(len(missing) > 0); err != nil {
		return err
	}
	if len(missing) > 0 {
		console.Say("to build in %s: %s", s.cache, strings.Join(missing, ", "))
		if err := s.checkNetwork(ctx); err != nil {
			return err
		}
	}
	return installPackages(ctx)
}

// missing lists the names of the products that are not built.
func (s settings) missing(products []build.Product) (names []string) {
	for _, p := range products {
		if !s.cache.Have(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// emptyScratch deletes what a killed run left, whose last commands may still be ending.
func (s settings) emptyScratch() error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := os.RemoveAll(s.cache.Scratch())
		if err == nil {
			break
		}
		if time.Now().After(end) {
			return err
		}
	}
	for _, dir := range []string{s.cache.Products(), s.cache.Scratch()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// restart replaces a running engine, or the remains of a crash, with a new engine.
func (s settings) restart(ctx context.Context) error {
	if err := s.stop(ctx); err != nil {
		return err
	}
	done := console.During("start the engine")
	e, err := s.engineSpec(ctx)
	if err != nil {
		return err
	}
	// The images are pushed again each time, which is faster than checking for damage.
	if err := os.RemoveAll(s.cache.Path("registry")); err != nil {
		return err
	}
	if err := s.start(ctx, e); err != nil {
		return errors.Join(err, s.stop(ctx))
	}
	for end := time.Now().Add(time.Minute); !s.engineAnswers(ctx) || !s.registryAnswers(ctx); time.Sleep(100 * time.Millisecond) {
		if !s.running(ctx) || time.Now().After(end) {
			err := fmt.Errorf("the engine did not come up; the end of its log:\n  %s", s.engine().LastOfLog())
			return errors.Join(err, s.stop(ctx))
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), s.stop(ctx))
		}
	}
	done()
	return nil
}

// engineSpec returns everything the engine is started with.
func (s settings) engineSpec(ctx context.Context) (engineSpec, error) {
	programs, err := s.cache.Ensure(ctx, s.dagger())
	if err != nil {
		return engineSpec{}, err
	}
	if err := s.linkCLI(programs); err != nil {
		return engineSpec{}, err
	}
	root, err := s.cache.Ensure(ctx, s.engineRoot())
	if err != nil {
		return engineSpec{}, err
	}
	sdk, err := s.cache.Ensure(ctx, s.goSDK())
	if err != nil {
		return engineSpec{}, err
	}
	index, err := layout.ImageIndexFromPath(sdk)
	if err != nil {
		return engineSpec{}, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return engineSpec{}, err
	}
	proxy, err := s.cache.GoCommand(ctx, string(s.cache), nil, "env", "GOPROXY")
	if err != nil {
		return engineSpec{}, err
	}
	return engineSpec{
		root:    root,
		content: sdk,
		env: []string{
			"DAGGER_GO_SDK_MANIFEST_DIGEST=" + manifest.Manifests[0].Digest.String(),
			"_DAGGER_ENGINE_SYSTEMENV_GOPROXY=" + strings.TrimSpace(string(proxy)),
		},
		files: map[string]string{
			"etc/resolv.conf":          "nameserver " + nameserver + "\n",
			"etc/hosts":                "127.0.0.1 localhost slipway-engine\n::1 localhost\n",
			"etc/dagger/engine.json":   s.engineConfig(),
			"etc/slipway/registry.yml": registryConfig(),
			"etc/slipway/push.yml":     pushConfig(),
		},
	}, nil
}

// engineConfig makes our own registry the mirror of the registries that our pins name, and
// limits the store. Sizes are in bytes: the engine's GB is 2^30 of them. Half of the store is deleted
// at once, so that it happens rarely: v0.19.10 can delete what a running call needs.
func (s settings) engineConfig() string {
	return fmt.Sprintf(`{
  "logLevel": "info",
  "gc": {"maxUsedSpace": %[1]d, "reservedSpace": %[2]d, "minFreeSpace": "5%%", "sweepSize": %[4]d},
  "registries": {
    "docker.io": {"mirrors": [%[3]q]},
    "ghcr.io": {"mirrors": [%[3]q]},
    "registry.k8s.io": {"mirrors": [%[3]q]},
    %[3]q: {"http": true}
  }
}
`, s.storeGB*1e9, s.storeGB*1e9/4, registryInside, s.storeGB*1e9/2)
}

// down stops this machine's engine; there is nothing to do if another one is used.
func down(ctx context.Context, s settings) error {
	if err := checkRoot(); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(s.run); errors.Is(err, fs.ErrNotExist) {
		console.Say("this machine's own engine is not running")
		return nil
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	console.Say("the engine is stopped; its built files are kept in %s", s.cache)
	return nil
}

// clean deletes everything that up created.
func clean(ctx context.Context, s settings) error {
	if err := down(ctx, s); err != nil {
		return err
	}
	if err := s.rememberPins(""); err != nil {
		return err
	}
	for _, path := range []string{s.localPins(), string(s.cache)} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	console.Say("deleted %s", s.cache)
	return nil
}
