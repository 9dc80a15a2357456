package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"slipway/dev/engine/build"
	"slipway/dev/engine/console"
)

// Media types of an artifact that Flux reads, and of a chart of Helm.
const (
	fluxConfig  = "application/vnd.cncf.flux.config.v1+json"
	fluxContent = "application/vnd.cncf.flux.content.v1.tar+gzip"
	helmConfig  = "application/vnd.cncf.helm.config.v1+json"
	helmContent = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// push pushes a folder to the registry, where Flux on the nodes finds it: `flux push artifact` and `helm push` for a machine without
// them.
func push(ctx context.Context, s settings, dir, reference string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return console.Refuse(".slipway/engine push FOLDER "+reference, "%s is not a folder", dir)
	}
	if _, err := name.NewTag(s.registryAddress()+"/"+reference, name.Insecure); err != nil {
		return console.Refuse(".slipway/engine push "+dir+" fleet:latest", "%q is not NAME:TAG", reference)
	}
	unlock, err := s.needEngine(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.pushArtifact(ctx, dir, reference)
}

// pushFleet pushes what Flux reconciles in environment cluster-local.
func (s settings) pushFleet(ctx context.Context) error {
	fleet := filepath.Join(s.repo, "examples/fleet")
	if err := s.pushArtifact(ctx, fleet, "fleet:latest"); err != nil {
		return err
	}
	return s.pushArtifact(ctx, filepath.Join(fleet, "charts/hello"), "charts/hello:0.1.0")
}

func (s settings) pushArtifact(ctx context.Context, dir, reference string) error {
	tag, err := name.NewTag(s.registryAddress()+"/"+reference, name.Insecure)
	if err != nil {
		return err
	}
	artifact, err := artifactOf(dir)
	if err != nil {
		return err
	}
	transport := s.pushTransport()
	defer transport.CloseIdleConnections()
	if err := remote.Write(tag, artifact, remote.WithContext(ctx), remote.WithTransport(transport)); err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	digest, err := artifact.Digest()
	if err != nil {
		return err
	}
	console.Say("pushed %s as %s@%s", dir, reference, digest)
	return nil
}

// artifactOf makes an artifact of a folder, or a chart if it has a Chart.yaml: the same bytes for the same files.
func artifactOf(dir string) (v1.Image, error) {
	to, config, content := "/.", types.MediaType(fluxConfig), types.MediaType(fluxContent)
	if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err == nil {
		to, config, content = "/"+filepath.Base(dir), helmConfig, helmContent
	}
	scratch, err := os.MkdirTemp("", "slipway-push-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	archive := filepath.Join(scratch, "folder.tar")
	if err := build.WriteLayer(archive, build.Placement{From: dir, To: to, Executable: build.Never}); err != nil {
		return nil, err
	}
	plain, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := io.Copy(w, plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return mutate.AppendLayers(mutate.ConfigMediaType(empty.Image, config), static.NewLayer(compressed.Bytes(), content))
}
