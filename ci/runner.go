package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"dagger/slipway/internal/dagger"
)

// runner is the stage runner.
func (m *Slipway) runner(ctx context.Context) (*dagger.File, error) {
	return m.program(ctx, "slipway", "./cmd/slipway", "cmd/slipway", "internal")
}

// Runner is the image of the stage runner and of the simulated cloud, for publishing.
//
// With a pins file that names it as RUNNER, a new engine need not build them, nor pull the Go image.
//
// +cache="session"
func (m *Slipway) Runner(ctx context.Context) (*dagger.Container, error) {
	runner, err := m.runner(ctx)
	if err != nil {
		return nil, err
	}
	cloudsim, err := m.cloudsimProgram(ctx)
	if err != nil {
		return nil, err
	}
	certificates, err := m.certificates()
	if err != nil {
		return nil, err
	}
	return dag.Container().
		WithFile(certificatesFile, certificates).
		WithFile(programs+"slipway", runner).
		WithFile(programs+"cloudsim", cloudsim), nil
}

// programs is the folder of our own programs in every image.
const programs = "/usr/local/bin/"

// program is one of our own, from the image that the pins file names, or built
// from the Go files of folders.
func (m *Slipway) program(ctx context.Context, name, pkg string, folders ...string) (*dagger.File, error) {
	if published := m.pinned("RUNNER"); published != "" {
		return dag.Container().From(published).File(programs + name), nil
	}
	golang, err := m.golang()
	if err != nil {
		return nil, err
	}
	if err := writeSources(ctx); err != nil {
		return nil, err
	}
	// Addressed by what they are made of: unchanged, neither the dependencies nor the program are
	// compiled again, whichever checkout or commit of the module is called.
	return golang.
		WithDirectory("/src", sourcesOf("dev/dependencies")).
		WithWorkdir("/src").
		WithExec([]string{"go", "build", "-trimpath", "./dev/dependencies"}).
		WithDirectory("/src", sourcesOf(folders...)).
		WithExec([]string{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", "/program", pkg}).
		File("/program"), nil
}

// golang is the Go toolchain. It has no cache volumes: Dagger gives each checkout its own, and so
// each would compile everything again.
func (m *Slipway) golang() (*dagger.Container, error) {
	golang, err := m.image("GOLANG")
	if err != nil {
		return nil, err
	}
	golang = golang.WithEnvVariable("CGO_ENABLED", "0")
	if m.Goproxy != "" {
		golang = golang.WithEnvVariable("GOPROXY", m.Goproxy)
	}
	return golang, nil
}

// sources is the folder of a call with what our own programs are built from.
const sources = "sources"

// written says whether it is there. Each call is a process of its own.
var written struct {
	sync.Mutex
	done bool
}

// writeSources writes go.mod and the Go files of our own programs to a folder of this call.
//
// Read back from there, the engine knows them by their content: otherwise each change of the module, even
// of ci/, would build everything again. The folder is gone when the call ends, so a function must not
// return what is built from it to a later session's cache: such a function has +cache="session".
func writeSources(ctx context.Context) error {
	written.Lock() // stages can run at once
	defer written.Unlock()
	if written.done {
		return nil
	}
	_, err := dag.Directory().WithDirectory(".", moduleRoot(), dagger.DirectoryWithDirectoryOpts{
		Include: []string{"go.mod", "go.sum", "cmd/slipway/**", "internal/**", "dev/cloudsim/**", "dev/dependencies/**"},
		Exclude: []string{"**/*_test.go", "**/testdata", "internal/testkit", "internal/must"},
	}).Export(ctx, sources)
	if err != nil {
		return err
	}
	if err := samePermissions(sources); err != nil {
		return err
	}
	written.done = true
	return nil
}

// sourcesOf is go.mod and folders of the sources, which are written.
func sourcesOf(folders ...string) *dagger.Directory {
	include := []string{"go.mod", "go.sum"}
	for _, folder := range folders {
		include = append(include, folder+"/**")
	}
	return dag.CurrentModule().Workdir(sources, dagger.CurrentModuleWorkdirOpts{Include: include})
}

// samePermissions gives every file the same permissions. Those of a checkout depend on the umask,
// and those of a module that was loaded by its git address on the engine.
func samePermissions(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
}
