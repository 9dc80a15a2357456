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

	"slipway/dev/engine/build"
	"slipway/dev/engine/console"
)

// Media types of an artifact that Flux reads.
const (
	fluxConfig  = "application/vnd.cncf.flux.config.v1+json"
	fluxContent = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// pushArtifact pushes a folder as an artifact to the registry, where Flux on the nodes finds it: `flux push artifact` for a machine
// without one.
func pushArtifact(ctx context.Context, s settings, dir, reference string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return console.Refuse(".slipway/engine push FOLDER "+reference, "%s is not a folder", dir)
	}
	tag, err := name.NewTag(s.registryAddress()+"/"+reference, name.Insecure)
	if err != nil {
		return console.Refuse(".slipway/engine push "+dir+" fleet:latest", "%q is not NAME:TAG", reference)
	}
	unlock, err := s.needEngine(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	artifact, err := artifactOf(dir)
	if err != nil {
		return err
	}
	push := s.pushTransport()
	defer push.CloseIdleConnections()
	if err := remote.Write(tag, artifact, remote.WithContext(ctx), remote.WithTransport(push)); err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	digest, err := artifact.Digest()
	if err != nil {
		return err
	}
	console.Say("pushed %s as %s@%s", dir, reference, digest)
	return nil
}

// artifactOf makes an artifact of a folder: the same bytes for the same files.
func artifactOf(dir string) (v1.Image, error) {
	scratch, err := os.MkdirTemp("", "slipway-push-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	archive := filepath.Join(scratch, "folder.tar")
	if err := build.WriteLayer(archive, build.Placement{From: dir, To: "/.", Executable: build.Never}); err != nil {
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
	return mutate.AppendLayers(mutate.ConfigMediaType(empty.Image, fluxConfig), static.NewLayer(compressed.Bytes(), fluxContent))
}
