package main

import (
	"context"
	"os"
	"path/filepath"

	"slipway/dev/engine/build"
	"slipway/dev/engine/flux"
)

// apiServer leaves in .slipway/kubernetes all that a test needs for a Kubernetes without nodes, and for Flux there.
func apiServer(ctx context.Context, s settings) error {
	if err := checkMachine(); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	server, etcd, manifests := s.rack().APIServer(), s.rack().Etcd(), flux.Manifests(s.cache)
	if err := s.prepare(ctx, []build.Product{server, etcd, flux.Kustomize(s.cache), manifests}); err != nil {
		return err
	}
	folder := filepath.Join(s.repo, ".slipway", "kubernetes")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, from := range map[string]struct {
		product build.Product
		file    string
	}{"kube-apiserver": {server, "kube-apiserver"}, "etcd": {etcd, "server"}, flux.ManifestsFile: {manifests, flux.ManifestsFile}} {
		dir, err := s.cache.Ensure(ctx, from.product)
		if err != nil {
			return err
		}
		if err := link(filepath.Join(dir, from.file), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return os.RemoveAll(s.cache.Scratch())
}
