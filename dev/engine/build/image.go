package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An Image is built here for a machine that reaches no registry.
type Image struct {
	Pin       string   // its name in ci/pins.env, which also has its reference
	Reference string   // reference of an image that only such a machine needs and ci/pins.env lacks
	Debian    bool     // on a minimal Debian …
	Packages  []string // … with these packages
	GoRoot    bool     // with the Go toolchain at /usr/local/go
	Programs  []PlacedProgram
	Files     []PlacedFile
	Env       []string

	Root   string    // name of the Debian root if several images have it
	Hooks  []string  // commands that mmdebstrap runs in the finished root, $1
	App    string    // folder of the repository with a Node.js program, placed at /app
	Config v1.Config // replaces Env
}

// A PlacedProgram is a compiled program and its path.
type PlacedProgram struct {
	GoProgram
	At string
}

// A PlacedFile is a program in another product, and its path.
type PlacedFile struct {
	From     Product
	Name, At string
}

// Product returns the image as an OCI layout. Its program of ours, if it has one, is in the repository.
func (i Image) Product(c Cache, repository string) Product {
	inputs := slices.Concat([]string{"image 2"}, i.Env)
	if i.Debian {
		inputs = append(inputs, DebianInputs(i.Packages, i.debianOptions()...)...)
	}
	if i.GoRoot {
		inputs = append(inputs, GoToolchain.String(), GoToolchain.Sum)
	}
	for _, p := range i.Programs {
		inputs = append(append(inputs, p.At), p.Inputs()...)
	}
	for _, f := range i.Files {
		inputs = append(inputs, f.From.Key(), f.Name, f.At)
	}
	config := i.Config
	if i.Env != nil {
		config = v1.Config{Env: i.Env}
	}
	if i.Config.Cmd != nil || i.Config.Entrypoint != nil {
		inputs = append(inputs, fmt.Sprintf("%+v", i.Config))
	}
	if i.App != "" {
		inputs = append(inputs, appInputs(filepath.Join(repository, i.App))...)
	}
	return Product{
		Name:   "image-" + strings.ToLower(i.Pin),
		Inputs: inputs,
		Make: func(ctx context.Context, dir string) error {
			return c.Assemble(dir, config, func(scratch string) ([]string, error) { return i.layers(ctx, c, repository, scratch) })
		},
	}
}

// layers archives each of the image's layers in scratch, lowest first.
func (i Image) layers(ctx context.Context, c Cache, repository, scratch string) (archives []string, err error) {
	next := func(name string) string {
		archives = append(archives, filepath.Join(scratch, name+".tar"))
		return archives[len(archives)-1]
	}
	switch {
	case i.Root != "":
		shared, err := c.Ensure(ctx, i.DebianRoot(c))
		if err != nil {
			return nil, err
		}
		archives = append(archives, filepath.Join(shared, DebianArchive))
	case i.Debian:
		if err := c.Debian(ctx, next("debian"), i.Packages, i.debianOptions()...); err != nil {
			return nil, err
		}
	}
	if i.GoRoot {
		from, err := c.DownloadModule(ctx, GoToolchain)
		if err != nil {
			return nil, err
		}
		// Modules contain no file modes; these are the two folders of programs.
		executable := func(name string) bool { return strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "pkg/tool/") }
		if err := WriteLayer(next("go"), Placement{from, "/usr/local/go", executable}); err != nil {
			return nil, err
		}
	}
	for _, p := range i.Programs {
		if err := p.Build(ctx, c, scratch); err != nil {
			return nil, err
		}
		built := filepath.Join(scratch, p.name())
		if err := WriteLayer(next(p.name()+"-layer"), Placement{built, p.At, Always}); err != nil {
			return nil, err
		}
	}
	for _, f := range i.Files {
		from, err := c.Ensure(ctx, f.From)
		if err != nil {
			return nil, err
		}
		if err := WriteLayer(next(f.Name+"-layer"), Placement{filepath.Join(from, f.Name), f.At, Always}); err != nil {
			return nil, err
		}
	}
	if i.App != "" {
		if err := c.appLayer(ctx, filepath.Join(repository, i.App), scratch, next("app-layer")); err != nil {
			return nil, err
		}
	}
	return archives, nil
}

// Assemble writes an image of the layers that archive creates to dir.
func (c Cache) Assemble(dir string, config v1.Config, archive func(scratch string) ([]string, error)) error {
	scratch, err := os.MkdirTemp(c.Scratch(), "image-")
	if err != nil {
		return err
	}
	archives, err := archive(scratch)
	if err != nil {
		return err
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: "amd64",
		Config: config,
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return err
	}
	img = mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, path := range archives {
		layer, err := openLayer(path)
		if err != nil {
			return err
		}
		if img, err = mutate.AppendLayers(img, layer); err != nil {
			return err
		}
	}
	out, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return out.AppendImage(img)
}

// ReadImage opens the only image of the layout at dir.
func ReadImage(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s contains %d images instead of one", dir, len(manifest.Manifests))
	}
	return index.Image(manifest.Manifests[0].Digest)
}
