package main

import (
	"context"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	code, err := ownCode(ctx)
	if err != nil {
		return nil, err
	}
	own := []string{"go.mod", "go.sum"}
	for _, folder := range folders {
		own = append(own, folder+"/**")
	}
	// Addressed by what they are made of: unchanged, neither the dependencies nor the program are
	// compiled again, whichever checkout or commit of the module is called.
	return golang.
		WithDirectory("/src", dag.CurrentModule().Workdir(code.dependencies)).
		WithWorkdir("/src").
		WithExec([]string{"go", "build", "-trimpath", "./dependencies"}).
		WithDirectory("/src", dag.CurrentModule().Workdir(code.sources, dagger.CurrentModuleWorkdirOpts{Include: own})).
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

// code is what our own programs are built from, in folders of this call.
type code struct {
	sources      string
	dependencies string
}

// written is the code, once it is written. Each call is a process of its own.
var written struct {
	sync.Mutex
	*code
}

// ownCode writes go.mod and the Go files of our own programs to folders of this call.
//
// Read back from there, the engine knows them by their content: otherwise each change of the module, even
// of ci/, would build everything again. The folders are gone when the call ends, so a function must not
// return what is built from them to a later session's cache: such a function has +cache="session".
func ownCode(ctx context.Context) (*code, error) {
	written.Lock() // stages can run at once
	defer written.Unlock()
	if written.code != nil {
		return written.code, nil
	}
	c := &code{sources: "sources", dependencies: "dependencies"}
	_, err := dag.Directory().WithDirectory(".", moduleRoot(), dagger.DirectoryWithDirectoryOpts{
		Include: []string{"go.mod", "go.sum", "cmd/slipway/**", "internal/**", "dev/cloudsim/**"},
		Exclude: []string{"**/*_test.go", "**/testdata", "internal/testkit", "internal/must"},
	}).Export(ctx, c.sources)
	if err != nil {
		return nil, err
	}
	if err := c.writeDependencies(); err != nil {
		return nil, err
	}
	for _, folder := range []string{c.sources, c.dependencies} {
		if err := samePermissions(folder); err != nil {
			return nil, err
		}
	}
	written.code = c
	return c, nil
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

// writeDependencies writes what it takes to compile the dependencies of all our programs.
func (c *code) writeDependencies() error {
	foreign, err := imports(c.sources)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.dependencies, "dependencies"), 0o755); err != nil {
		return err
	}
	texts := map[string][]byte{"dependencies/dependencies.go": []byte(foreign)}
	for _, name := range []string{"go.mod", "go.sum"} {
		if texts[name], err = os.ReadFile(filepath.Join(c.sources, name)); err != nil {
			return err
		}
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(c.dependencies, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// imports returns a Go file that imports every package of other modules that the files in folder
// import.
func imports(folder string) (string, error) {
	found := map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			// The first part of another module's path is a host name.
			if host, _, _ := strings.Cut(spec.Path.Value, "/"); strings.Contains(host, ".") {
				found[spec.Path.Value] = true
			}
		}
		return nil
	})
	text := "package dependencies\n\nimport (\n"
	for _, path := range slices.Sorted(maps.Keys(found)) {
		text += "\t_ " + path + "\n"
	}
	return text + ")\n", err
}
