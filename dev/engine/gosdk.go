package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"slipway/dev/engine/build"
)

// sdkModule is the module that every Dagger module in Go depends on.
var sdkModule = build.GoModule{
	Path:    "dagger.io/dagger",
	Version: daggerVersion,
	Sum:     "h1:farO4CggSoWCId92QeZWKpP5mY9YwsVhNYuUzpqsKqw=",
}

// Folders of the image that the engine copies into its Go caches when these are empty.
const (
	sdkModCache   = "/go/pkg/mod"
	sdkBuildCache = "/root/.cache/go-build"
)

// goSDK is the image in which the engine compiles Go modules: the golang image, Dagger's code
// generator, and a filled build cache, so that the first call on a new engine need not compile the
// SDK. The engine reads it as an OCI layout. The compiler's cache contains time stamps, so that
// layer differs between builds.
func (s settings) goSDK() build.Product {
	dagger, golang := s.dagger(), golangImage.Product(s.cache, s.repo)
	return build.Product{
		Name:   "go-sdk",
		Inputs: []string{"sdk 3", dagger.Key(), golang.Key(), sdkModule.String(), sdkModule.Sum},
		Make: func(ctx context.Context, dir string) error {
			programs, err := s.cache.Ensure(ctx, dagger)
			if err != nil {
				return err
			}
			base, err := s.cache.Ensure(ctx, golang)
			if err != nil {
				return err
			}
			if err := s.cache.Assemble(dir, v1.Config{Env: golangImage.Env}, func(scratch string) ([]string, error) {
				archives, err := layerFiles(base)
				if err != nil {
					return nil, err
				}
				root := filepath.Join(scratch, "root")
				if err := s.warm(ctx, root, archives); err != nil {
					return nil, err
				}
				top := filepath.Join(scratch, "sdk.tar")
				return append(archives, top), build.WriteLayer(top,
					build.Placement{From: filepath.Join(programs, "codegen"), To: "/usr/local/bin/codegen", Executable: build.Always},
					build.Placement{From: filepath.Join(root, sdkModCache), To: sdkModCache, Executable: build.Never},
					build.Placement{From: filepath.Join(root, sdkBuildCache), To: sdkBuildCache, Executable: build.Never})
			}); err != nil {
				return err
			}
			// The engine's content store expects this folder, and the mount is read-only.
			return os.Mkdir(filepath.Join(dir, "ingest"), 0o755)
		},
	}
}

// layerFiles returns the layers of the image in the layout at dir as files.
func layerFiles(dir string) ([]string, error) {
	image, err := build.ReadImage(dir)
	if err != nil {
		return nil, err
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return nil, err
		}
		paths = append(paths, filepath.Join(dir, "blobs", digest.Algorithm, digest.Hex))
	}
	return paths, nil
}

// warm unpacks the layers at root and compiles the SDK's module there, with the toolchain and the
// paths that the image will have.
func (s settings) warm(ctx context.Context, root string, layers []string) error {
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	for _, layer := range layers {
		if err := build.Unpack(ctx, layer, root); err != nil {
			return err
		}
	}
	// Compiling needs this device; images contain none.
	if err := os.MkdirAll(filepath.Join(root, "dev"), 0o755); err != nil {
		return err
	}
	if err := unix.Mknod(filepath.Join(root, "dev/null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		return fmt.Errorf("create /dev/null: %w", err)
	}
	source, err := s.cache.DownloadModule(ctx, sdkModule)
	if err != nil {
		return err
	}
	const inside = "/tmp/sdk"
	if err := os.CopyFS(filepath.Join(root, inside), os.DirFS(source)); err != nil {
		return err
	}
	// Download outside of the root, where there is a network.
	if _, err := s.cache.GoCommand(ctx, source, []string{"GOMODCACHE=" + filepath.Join(root, sdkModCache)}, "mod", "download"); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(root, sdkModCache, "cache", "vcs")); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "chroot", root, "go", "-C", inside, "build", "./...")
	cmd.Env = append(golangImage.Env, "HOME=/root", "GOROOT=/usr/local/go", "CGO_ENABLED=0", "GOPROXY=off", "GOFLAGS=-mod=readonly -buildvcs=false")
	_, err = build.Output(cmd)
	return err
}
