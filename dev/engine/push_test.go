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

	"slipway/dev/engine/build"
)

// An artifact has the files of its folder, and the same digest for the same files.
func TestArtifactOf(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "a: 1\n", "apps/b.yaml": "b: 2\n"} {
		if err := build.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	digests := map[string]bool{}
	for range 2 {
		artifact, err := artifactOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := artifact.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[digest.String()] = true
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
		var names []string
		files := tar.NewReader(archive)
		for {
			header, err := files.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.Typeflag == tar.TypeReg {
				names = append(names, header.Name)
			}
		}
		if !slices.Equal(names, []string{"a.yaml", "apps/b.yaml"}) {
			t.Errorf("it has %q", names)
		}
		if err := os.Chtimes(filepath.Join(dir, "a.yaml"), time.Unix(0, 0), time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if len(digests) != 1 {
		t.Errorf("its digests are %v", digests)
	}
}
