package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An image is built here for a machine that reaches no registry. To add one, add its entry to
// images and its line to ci/pins.env.
type image struct {
	pin       string   // its name in ci/pins.env, which also has its reference
	reference string   // reference of an image that only such a machine needs and ci/pins.env lacks
	debian    bool     // on a minimal Debian …
	packages  []string // … with these packages
	goRoot    bool     // with the Go toolchain at /usr/local/go
	programs  []placedProgram
	env       []string

	root   string    // name of the Debian root if several images have it
	hooks  []string  // commands that mmdebstrap runs in the finished root, $1
	app    string    // folder of the repository with a Node.js program, placed at /app
	config v1.Config // replaces env
}

// A placedProgram is a compiled program and its path.
type placedProgram struct {
	goProgram
	at string
}

// images contain what our functions use of the upstream images of the same name, at the same paths.
// The golang image has no C compiler: we build without cgo.
var images = []image{
	{pin: "DEBIAN", debian: true},
	golangImage,
	ansibleImage,
	{
		pin: "OPENTOFU",
		programs: []placedProgram{{
			goProgram: goProgram{
				module: goModule{
					path:    "github.com/opentofu/opentofu",
					version: "v1.12.6",
					sum:     "h1:0VT4P8pMmGcCUnQ9JDrJ+Qg2d35Vzm4FFd/9+H7oF98=",
				},
				packages: []string{"./cmd/tofu"},
				ldflags:  "-X github.com/opentofu/opentofu/version.dev=no",
			},
			at: "/usr/local/bin/tofu",
		}},
	},
	{
		// With a registry, providers are downloaded according to the lock file.
		pin:       "PROVIDERS",
		reference: "docker.io/slipway/providers:1",
		programs: []placedProgram{
			provider("terraform-provider-openstack/openstack", goModule{
				path:    "github.com/terraform-provider-openstack/terraform-provider-openstack/v3",
				version: "v3.4.0",
				sum:     "h1:Ap8gvameIY5ZM7CMh7fngP/VoIyeupzKX3izoyfp9yg=",
			}),
			provider("ovh/ovh", goModule{
				path:    "github.com/ovh/terraform-provider-ovh",
				version: "v1.4.0",
				sum:     "h1:aaNqm+AcP99s/Viql0WV3N09xqcENlwPjxReDovI8xQ=",
			}),
		},
	},
	caddyImage, mosquittoImage, backendImage, powersyncImage,
}

// provider is an OpenTofu provider in a mirror, with the layout of
// https://opentofu.org/docs/cli/config/config-file/#implied-local-mirror-directories
func provider(address string, module goModule) placedProgram {
	version := strings.TrimPrefix(module.version, "v")
	return placedProgram{
		goProgram: goProgram{module: module, packages: []string{"."}},
		at:        "/registry.opentofu.org/" + address + "/" + version + "/linux_amd64/terraform-provider-" + path.Base(address) + "_v" + version,
	}
}

// ansibleImage has Python and, other than the upstream image, Debian's Ansible, with the collections
// that playbooks for servers use. The others are ten times as large.
var ansibleImage = image{
	pin:      "ANSIBLE",
	debian:   true,
	packages: []string{"ansible", "openssh-client"},
	hooks: []string{
		`cd "$1"/usr/lib/python3/dist-packages/ansible_collections && find . -mindepth 2 -maxdepth 2 -type d ` +
			`! -path ./ansible/posix ! -path './community/docker' ! -path ./community/library_inventory_filtering_v1 ! -path ./community/postgresql ! -path ./community/crypto ! -path ./community/general -prune -exec rm -rf {} +`,
		// ssh refuses to run as a user without an entry.
		`echo 'tools:x:65532:65532::/nonexistent:/usr/sbin/nologin' >>"$1"/etc/passwd`,
	},
}

var golangImage = image{
	pin:      "GOLANG",
	debian:   true,
	packages: []string{"ca-certificates", "git", "openssh-client"},
	goRoot:   true,
	env: []string{
		"PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"GOLANG_VERSION=" + goVersion, "GOTOOLCHAIN=local", "GOPATH=/go",
	},
}

// product returns the image as an OCI layout.
func (i image) product(s settings) product {
	inputs := slices.Concat([]string{"image 2"}, i.env)
	if i.debian {
		inputs = append(inputs, debianInputs(i.packages, i.debianOptions()...)...)
	}
	if i.goRoot {
		inputs = append(inputs, goToolchain.String(), goToolchain.sum)
	}
	for _, p := range i.programs {
		inputs = append(append(inputs, p.at), p.inputs()...)
	}
	config := i.config
	if i.env != nil {
		config = v1.Config{Env: i.env}
	}
	if i.config.Cmd != nil {
		inputs = append(inputs, fmt.Sprintf("%+v", i.config))
	}
	if i.app != "" {
		inputs = append(inputs, appInputs(filepath.Join(s.repo, i.app))...)
	}
	return product{
		name:   "image-" + strings.ToLower(i.pin),
		inputs: inputs,
		make: func(ctx context.Context, dir string) error {
			return s.assemble(dir, config, func(scratch string) ([]string, error) { return i.layers(ctx, s, scratch) })
		},
	}
}

// layers archives each of the image's layers in scratch, lowest first.
func (i image) layers(ctx context.Context, s settings, scratch string) (archives []string, err error) {
	next := func(name string) string {
		archives = append(archives, filepath.Join(scratch, name+".tar"))
		return archives[len(archives)-1]
	}
	switch {
	case i.root != "":
		shared, err := s.ensure(ctx, i.debianRoot(s))
		if err != nil {
			return nil, err
		}
		archives = append(archives, filepath.Join(shared, debianArchive))
	case i.debian:
		if err := s.debian(ctx, next("debian"), i.packages, i.debianOptions()...); err != nil {
			return nil, err
		}
	}
	if i.goRoot {
		from, err := s.downloadModule(ctx, goToolchain)
		if err != nil {
			return nil, err
		}
		// Modules contain no file modes; these are the two folders of programs.
		executable := func(name string) bool { return strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "pkg/tool/") }
		if err := writeLayer(next("go"), placement{from, "/usr/local/go", executable}); err != nil {
			return nil, err
		}
	}
	for _, p := range i.programs {
		if err := p.build(ctx, s, scratch); err != nil {
			return nil, err
		}
		built := filepath.Join(scratch, p.name())
		if err := writeLayer(next(p.name()+"-layer"), placement{built, p.at, always}); err != nil {
			return nil, err
		}
	}
	if i.app != "" {
		if err := s.appLayer(ctx, filepath.Join(s.repo, i.app), scratch, next("app-layer")); err != nil {
			return nil, err
		}
	}
	return archives, nil
}

// assemble writes an image of the layers that archive creates to dir.
func (s settings) assemble(dir string, config v1.Config, archive func(scratch string) ([]string, error)) error {
	scratch, err := os.MkdirTemp(s.scratch(), "image-")
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

// readImage opens the only image of the layout at dir.
func readImage(dir string) (v1.Image, error) {
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
