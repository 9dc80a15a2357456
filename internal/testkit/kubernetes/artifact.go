package kubernetes

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"

	"slipway/internal/must"
)

// PushManifests pushes Flux' manifests to a registry of the test's own, as Flux publishes them, and returns the reference by digest.
func PushManifests(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must.Do(t, err)
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	must.Do(t, files.WriteHeader(&tar.Header{Name: "gotk-components.yaml", Mode: 0o644, Size: int64(len(data))}))
	_, err = files.Write(data)
	must.Do(t, err)
	must.Do(t, files.Close())
	must.Do(t, compressed.Close())
	image, err := mutate.AppendLayers(empty.Image, static.NewLayer(archive.Bytes(), "application/vnd.cncf.flux.content.v1.tar+gzip"))
	must.Do(t, err)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/fluxcd/flux-manifests"
	reference, err := name.ParseReference(repository+":v2.9.5", name.Insecure)
	must.Do(t, err)
	must.Do(t, remote.Write(reference, image))
	digest, err := image.Digest()
	must.Do(t, err)
	return repository + ":v2.9.5@" + digest.String()
}
