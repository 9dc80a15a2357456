package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"slipway/dev/engine/build"
	"slipway/dev/engine/flux"
)

// A Maker makes what nodes consist of.
type Maker struct {
	Cache      build.Cache
	Repository string // the checkout, with the program inside
}

// program is a product with the programs of p. It is compiled with caches of its own, which are deleted: those
// of all of them together would fill the disk.
func (m Maker) program(name string, p build.GoProgram) build.Product {
	return build.Product{
		Name:   name,
		Inputs: p.Inputs(),
		Make: func(ctx context.Context, dir string) error {
			own := build.Cache(m.Cache.Path("scratch", "cluster"))
			if err := os.MkdirAll(own.Scratch(), 0o755); err != nil {
				return err
			}
			err := p.Build(ctx, own, dir)
			return errors.Join(err, os.RemoveAll(string(own)))
		},
	}
}

func (m Maker) machined() build.Product   { return m.program("talos-machined", machined) }
func (m Maker) talosctl() build.Product   { return m.program("talos-talosctl", talosctl) }
func (m Maker) containerd() build.Product { return m.program("containerd", containerd) }
func (m Maker) coreDNS() build.Product    { return m.program("coredns", coreDNS) }
func (m Maker) kubernetes() build.Product { return m.program("kubernetes", kubernetes) }
func (m Maker) helm() build.Product       { return m.program("helm", helm) }

// Etcd has the program server.
func (m Maker) Etcd() build.Product { return m.program("etcd", etcd) }

// APIServer is kube-apiserver alone, which tests use without nodes: the others take three times as long to build.
func (m Maker) APIServer() build.Product {
	alone := kubernetes
	alone.Packages = []string{"./cmd/kube-apiserver"}
	return m.program("kube-apiserver", alone)
}

// inside is our own program for nodes.
func (m Maker) inside() build.Product {
	module := filepath.Join(m.Repository, "dev", "engine")
	const pkg = "cluster/inside"
	return build.Product{
		Name:   "inside",
		Inputs: append([]string{"inside 1", build.GoVersion}, sums(filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum"), filepath.Join(module, pkg, "*.go"))...),
		Make: func(ctx context.Context, dir string) error {
			_, err := m.Cache.GoCommand(ctx, module, nil, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", dir+"/", "./"+pkg)
			return err
		},
	}
}

// sums returns the names and the digests of files. One that cannot be read is reported when it is compiled.
func sums(patterns ...string) (list []string) {
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return append(list, err.Error())
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return append(list, err.Error())
			}
			sum := sha256.Sum256(data)
			list = append(list, filepath.Base(path), hex.EncodeToString(sum[:]))
		}
	}
	return list
}

// Products lists all that nodes consist of, and the tools for them, the slowest to build first.
func (m Maker) Products() []build.Product {
	products := []build.Product{m.kubernetes(), m.machined(), m.talosctl(), m.helm(), m.containerd(), m.coreDNS(), m.Etcd(), m.inside(), m.debian().DebianRoot(m.Cache)}
	products = append(products, flux.Products(m.Cache, m.program)...)
	for _, i := range append(m.images(), m.Tools()...) {
		products = append(products, i.Product(m.Cache, m.Repository))
	}
	return append(products, m.root())
}

// Publish pushes the images that nodes pull.
func (m Maker) Publish(ctx context.Context, push func(ctx context.Context, dir, reference string) (digest string, err error)) error {
	for _, i := range m.images() {
		dir, err := m.Cache.Ensure(ctx, i.Product(m.Cache, m.Repository))
		if err != nil {
			return err
		}
		if _, err := push(ctx, dir, i.Reference); err != nil {
			return err
		}
	}
	return nil
}
