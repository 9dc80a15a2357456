package main

import (
	"context"
	"os"
	"path/filepath"

	"slipway/dev/engine/build"
)

// enginePackages are what the engine runs (containers, their network and names, git sources), the
// registry beside it, and its connection to the host's network.
var enginePackages = []string{
	"ca-certificates", "openssl", // openssl: c_rehash, for a host with certificates of its own
	"runc", "containernetworking-plugins", "iptables", "dnsmasq-base",
	"git", "openssh-client",
	"docker-registry",
	"passt", // connects the engine's network to the host's, from outside
}

// enginePrograms maps Dagger's programs to the paths where the engine looks for them.
var enginePrograms = map[string]string{
	"engine":  "usr/local/bin/dagger-engine",
	"init":    "usr/local/bin/dagger-init",
	"dnsname": "opt/cni/bin/dnsname",
}

// engineLinks maps Debian's programs to the paths where the engine looks for them.
var engineLinks = map[string]string{
	"usr/local/bin/runc":     "/usr/sbin/runc",
	"opt/cni/bin/bridge":     "/usr/lib/cni/bridge",
	"opt/cni/bin/loopback":   "/usr/lib/cni/loopback",
	"opt/cni/bin/firewall":   "/usr/lib/cni/firewall",
	"opt/cni/bin/host-local": "/usr/lib/cni/host-local",
}

// engineRoot is the root file system of the engine's container.
func (s settings) engineRoot() build.Product {
	dagger := s.dagger()
	return build.Product{
		Name:   "engine-root",
		Inputs: append(build.DebianInputs(enginePackages), "root 1", dagger.Key()),
		Make: func(ctx context.Context, dir string) error {
			programs, err := s.cache.Ensure(ctx, dagger)
			if err != nil {
				return err
			}
			if err := s.cache.Debian(ctx, dir, enginePackages); err != nil {
				return err
			}
			for _, folder := range []string{"opt/cni/bin", "usr/local/bin", "etc/dagger", "var/lib/dagger", "var/lib/registry", "run/dagger", "usr/local/share/dagger/content"} {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
					return err
				}
			}
			for name, path := range enginePrograms {
				if err := build.Install(filepath.Join(programs, name), filepath.Join(dir, path), 0o755); err != nil {
					return err
				}
			}
			for path, target := range engineLinks {
				if err := os.Symlink(target, filepath.Join(dir, path)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
