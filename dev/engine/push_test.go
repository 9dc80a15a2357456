package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"slipway/dev/engine/build"
)

// An artifact has the files of its folder, and the same digest for the same files. A folder with a chart is pushed as one.
func TestArtifactOf(t *testing.T) {
	for _, test := range []struct {
		file, config string
		names        []string
	}{
		{"a.yaml", fluxConfig, []string{"a.yaml", "apps/b.yaml"}},
		{"Chart.yaml", helmConfig, []string{"web/Chart.yaml", "web/apps/b.yaml"}},
	} {
		t.Run(test.file, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "web")
			for _, name := range []string{test.file, "apps/b.yaml"} {
				if err := build.WriteFile(filepath.Join(dir, name), []byte("a: 1\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var digests []v1.Hash
			for range 2 {
				artifact, err := artifactOf(dir)
				if err != nil {
					t.Fatal(err)
				}
				digest, err := artifact.Digest()
				if err != nil {
					t.Fatal(err)
				}
				digests = append(digests, digest)
				manifest, err := artifact.Manifest()
				if err != nil {
					t.Fatal(err)
				}
				if string(manifest.Config.MediaType) != test.config {
					t.Errorf("its type is %s", manifest.Config.MediaType)
				}
				if names := filesOf(t, artifact); !slices.Equal(names, test.names) {
					t.Errorf("it has %q", names)
				}
				if err := os.Chtimes(filepath.Join(dir, test.file), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
					t.Fatal(err)
				}
			}
			if digests[0] != digests[1] {
				t.Errorf("its digests are %v", digests)
			}
		})
	}
}

// filesOf returns the names of the files in the only layer of an artifact.
func filesOf(t *testing.T, artifact v1.Image) (names []string) {
	t.Helper()
	layers, err := artifact.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%v, %d layers", err, len(layers))
	}
	compressed, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := gzip.NewReader(compressed)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(archive)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsLocal(header.Name) { // Flux refuses it
			t.Errorf("it has %q", header.Name)
		}
		if header.Typeflag == tar.TypeReg {
			names = append(names, header.Name)
		}
	}
}
