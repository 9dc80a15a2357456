package main

import (
	"context"
	"crypto/rand"

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
	source, err := sources(ctx, folders...)
	if err != nil {
		return nil, err
	}
	// Addressed by its sources and its image: unchanged, it is never built twice.
	return golang.
		WithDirectory("/src", source).
		WithWorkdir("/src").
		WithExec([]string{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", "/program", pkg}).
		File("/program"), nil
}

// golang is the Go toolchain with the caches that all builds share.
func (m *Slipway) golang() (*dagger.Container, error) {
	golang, err := m.image("GOLANG")
	if err != nil {
		return nil, err
	}
	golang = golang.
		WithMountedCache("/go/pkg/mod", dag.CacheVolume("slipway-go-mod")).
		WithMountedCache("/root/.cache/go-build", dag.CacheVolume("slipway-go-build")).
		WithEnvVariable("CGO_ENABLED", "0")
	if m.Goproxy != "" {
		golang = golang.WithEnvVariable("GOPROXY", m.Goproxy)
	}
	return golang, nil
}

// sources are what one of our own programs is built from: go.mod, and the Go files of folders.
//
// They are written to a folder of this call and read back. Only that has the engine know them by
// their content: otherwise each change of the module, even of ci/, would build everything again.
// The folder is gone when the call ends, so a function must not return what is built from it to
// a later session's cache: such a function has +cache="session".
func sources(ctx context.Context, folders ...string) (*dagger.Directory, error) {
	include := []string{"go.mod", "go.sum"}
	for _, folder := range folders {
		include = append(include, folder+"/**")
	}
	folder := rand.Text() // stages can run at once
	_, err := dag.Directory().WithDirectory(".", moduleRoot(), dagger.DirectoryWithDirectoryOpts{
		Include: include,
		Exclude: []string{"**/*_test.go", "**/testdata", "internal/testkit", "internal/must"},
	}).Export(ctx, folder)
	return dag.CurrentModule().Workdir(folder), err
}
