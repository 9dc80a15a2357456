package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"slipway/dev/engine/cluster"
	"slipway/dev/engine/console"
)

// rack has the Talos nodes beside the engine.
func (s settings) rack() cluster.Rack {
	return cluster.Rack{
		Maker:  cluster.Maker{Cache: s.cache, Repository: s.repo},
		Run:    filepath.Join(s.run, "nodes"),
		Engine: s.netns(),
		Group:  s.group,
	}
}

// firstNodes are those that environment cluster-local has.
var firstNodes = []string{"cp-1", "worker-1"}

// startCluster leaves the machine with the nodes of environment cluster-local: built, and switched on, with what
// Flux reconciles there. It is safe to repeat and to interrupt.
func startCluster(ctx context.Context, s settings) error {
	unlock, err := s.needEngine(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.buildCluster(ctx); err != nil {
		return err
	}
	if err := s.switchOn(ctx, firstNodes...); err != nil {
		return err
	}
	return s.pushFleet(ctx)
}

// switchOn switches nodes on, after the registry has their images: it is empty whenever the engine starts.
func (s settings) switchOn(ctx context.Context, names ...string) error {
	if missing := s.missing(s.rack().Products()); len(missing) > 0 {
		return console.Refuse("make cluster", "the nodes are not built: %s", strings.Join(missing, ", "))
	}
	done := console.During("push the images of the nodes to " + s.registryAddress())
	if err := s.rack().Publish(ctx, s.push); err != nil {
		return err
	}
	if err := s.publish(ctx); err != nil { // again: the pins file now has the tools, too
		return err
	}
	done()
	for _, name := range names {
		if err := s.rack().On(ctx, name); err != nil {
			return err
		}
	}
	console.Say("the nodes are on: %s", cluster.Describe(s.rack().Running(ctx)))
	return nil
}

// node switches one node.
func node(ctx context.Context, s settings, verb, name string) error {
	switchOn := func(ctx context.Context, name string) error { return s.switchOn(ctx, name) }
	do, ok := map[string]func(context.Context, string) error{"on": switchOn, "off": s.rack().Off, "wipe": s.rack().Wipe}[verb]
	if !ok {
		return console.Refuse(".slipway/engine node on "+firstNodes[0], "a node can be switched on, off, or wiped: not %q", verb)
	}
	if _, err := cluster.Address(name); err != nil {
		return err
	}
	unlock, err := s.needEngine(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return do(ctx, name)
}

// needEngine refuses if this machine's own engine does not run, and waits until no other command uses it.
func (s settings) needEngine(ctx context.Context) (unlock func(), err error) {
	if err := checkRoot(); err != nil {
		return nil, err
	}
	other, err := s.otherEngine(ctx)
	if err != nil {
		return nil, err
	}
	if other != nil {
		return nil, console.Refuse("talosctl cluster create docker", "the nodes run beside an engine that this machine has built, and it uses %s", other.what)
	}
	if unlock, err = s.lock(ctx); err != nil {
		return nil, err
	}
	if !s.running(ctx) {
		unlock()
		return nil, console.Refuse("make engine", "no engine is running")
	}
	return unlock, nil
}

// buildCluster makes or checks all that the nodes consist of, one after the other: each uses all cores.
func (s settings) buildCluster(ctx context.Context) error {
	products := s.rack().Products()
	if err := s.prepare(ctx, products); err != nil {
		return err
	}
	for _, p := range products {
		if _, err := s.cache.Ensure(ctx, p); err != nil {
			return err
		}
	}
	return os.RemoveAll(s.cache.Scratch())
}
