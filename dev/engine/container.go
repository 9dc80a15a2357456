package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"

	"slipway/dev/engine/build"
	"slipway/dev/engine/container"
)

// The engine runs as one privileged container. Its root is an overlay on a product, so that it leaves no trace
// there. Its network is a namespace that pasta connects to the host's in user space, so that its bridge and
// iptables rules disappear with it.

// engine is the engine's container.
func (s settings) engine() container.Container {
	return container.Container{ID: "engine", Dir: s.run, State: filepath.Join(s.run, "runc"), Group: s.group("")}
}

// group is a container's control group, one for each run folder and name.
func (s settings) group(name string) string {
	sum := sha256.Sum256([]byte(filepath.Join(s.run, name)))
	return "slipway-" + hex.EncodeToString(sum[:])[:8]
}

// running reports whether the engine is alive.
func (s settings) running(ctx context.Context) bool { return s.engine().Running(ctx) }

// An engineSpec is what start needs to know besides the settings.
type engineSpec struct {
	root    string            // a product: the root's files
	content string            // a product: the Go SDK's OCI layout
	env     []string          // the engine's environment
	files   map[string]string // files to add to the root: path, content
}

// start runs the container and returns once it is created; the engine needs some more time until it
// responds.
func (s settings) start(ctx context.Context, e engineSpec) error {
	if err := os.MkdirAll(filepath.Dir(s.socket()), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(s.pushFolder(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, dir := range []string{"store", "registry"} {
		if err := os.MkdirAll(s.cache.Path(dir), 0o755); err != nil {
			return err
		}
	}
	c := s.engine()
	if err := c.Mount(e.root, s.run); err != nil {
		return err
	}
	for path, content := range e.files {
		if err := build.WriteFile(filepath.Join(c.Root(), path), []byte(content), 0o644); err != nil {
			return err
		}
	}
	if err := s.startNetwork(ctx, e.root); err != nil {
		return err
	}
	spec, err := s.spec(e)
	if err != nil {
		return err
	}
	return c.Start(ctx, spec)
}

// stop removes everything that start created, even after a crash of any part of it, and even if we
// were told to stop ourselves.
func (s settings) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if err := s.rack().AllOff(ctx); err != nil { // they use its network
		return err
	}
	s.engine().Terminate(ctx, 15*time.Second) // the engine closes its databases
	if err := s.engine().Remove(ctx); err != nil {
		return err
	}
	if err := s.stopNetwork(); err != nil {
		return err
	}
	return os.RemoveAll(s.run)
}

// spec describes the engine's container to runc.
func (s settings) spec(e engineSpec) (*specs.Spec, error) {
	mounts := []specs.Mount{
		container.Bind(s.cache.Path("store"), "/var/lib/dagger"),
		container.Bind(s.cache.Path("registry"), "/var/lib/registry"),
		container.Bind(s.pushFolder(), pushFolder),
		container.Bind(filepath.Dir(s.socket()), "/run/dagger"),
		container.Bind(e.content, "/usr/local/share/dagger/content", "ro"),
	}
	// Certificates that the host's owner added, for a network that needs them; the engine passes
	// them on to its containers.
	const certificates = "/usr/local/share/ca-certificates"
	if added, err := os.ReadDir(certificates); err == nil && len(added) > 0 {
		mounts = append(mounts, container.Bind(certificates, certificates, "ro"))
	}
	command := []string{"/bin/sh", "-c", "docker-registry serve /etc/slipway/registry.yml & docker-registry serve /etc/slipway/push.yml & exec dagger-engine"}
	env := append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}, e.env...)
	spec, err := s.engine().Spec(s.netns(), command, env, mounts, "/dev/net/tun", "/dev/fuse", "/dev/kvm")
	if err != nil {
		return nil, err
	}
	spec.Hostname = "slipway-engine"
	return spec, nil
}
