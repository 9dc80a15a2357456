package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// GoVersion builds everything, whatever Go version the host has, so that the same sources give the
// same bytes everywhere. It is also the version in the golang image and the engine's Go SDK.
//
// renovate: datasource=golang-version depName=go
const GoVersion = "1.26.8"

// GoToolchain is that version as the Go project publishes it.
var GoToolchain = GoModule{
	Path:    "golang.org/toolchain",
	Version: "v0.0.1-go" + GoVersion + ".linux-amd64",
	Sum:     "h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=",
}

// A GoModule is one version of a module with the checksum of its content. The checksum covers its
// go.mod and go.sum, and so everything it is built with.
type GoModule struct{ Path, Version, Sum string }

func (m GoModule) String() string { return m.Path + "@" + m.Version }

// A GoProgram is built inside its own module, because the replace lines of a go.mod only apply
// there.
type GoProgram struct {
	Module   GoModule
	Packages []string // relative to the module, such as ./cmd/tofu
	LDFlags  string   // besides -s -w
	Tags     string   // build tags, with commas

	// For a module that does not build as the proxy serves it, because modules nested in its
	// repository are missing:
	ModEdits []string          // arguments of go mod edit
	Sums     []string          // lines to add to go.sum
	Files    map[string]string // files to add: path in the module, content

	Patches []Patch // fixes for the module
}

// A Patch replaces a text that occurs exactly once in one file of a module.
type Patch struct{ Path, Old, New string }

// apply patches the module in dir.
func (p Patch) apply(dir string) error {
	file := filepath.Join(dir, p.Path)
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(content, []byte(p.Old)); n != 1 {
		return fmt.Errorf("the text to replace occurs %d times in %s, not once: %q", n, p.Path, p.Old)
	}
	return WriteFile(file, bytes.Replace(content, []byte(p.Old), []byte(p.New), 1), 0o644)
}

// Inputs lists everything that the program's bytes depend on.
func (g GoProgram) Inputs() []string {
	in := []string{GoVersion, g.Module.String(), g.Module.Sum, g.LDFlags}
	in = slices.Concat(in, g.Packages, g.ModEdits, g.Sums)
	if g.Tags != "" {
		in = append(in, "tags "+g.Tags)
	}
	for _, path := range slices.Sorted(maps.Keys(g.Files)) {
		in = append(in, path, g.Files[path])
	}
	for _, p := range g.Patches {
		in = append(in, p.Path, p.Old, p.New)
	}
	return in
}

// name returns the file name that go build gives the first package.
func (g GoProgram) name() string {
	if g.Packages[0] != "." {
		return filepath.Base(g.Packages[0])
	}
	return filepath.Base(majorVersion.ReplaceAllString(g.Module.Path, ""))
}

// majorVersion is the end of a module's path that is not part of its program's name.
var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// Build compiles the program's packages into dir.
func (g GoProgram) Build(ctx context.Context, c Cache, dir string) error {
	source, err := c.DownloadModule(ctx, g.Module)
	if err != nil {
		return err
	}
	if g.ModEdits != nil || g.Files != nil || g.Patches != nil {
		// A fixed path, so that an interrupted build finds its objects again.
		work := filepath.Join(c.Scratch(), strings.ReplaceAll(g.Module.Path, "/", "-"))
		if err := g.adapt(ctx, c, source, work); err != nil {
			return err
		}
		source = work
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-tags=" + g.Tags, "-ldflags=-s -w " + g.LDFlags, "-o", dir + "/"}
	_, err = c.GoCommand(ctx, source, nil, append(args, g.Packages...)...)
	return err
}

// adapt copies the module to work, and changes what keeps it from building or is wrong in it.
func (g GoProgram) adapt(ctx context.Context, c Cache, source, work string) error {
	if err := os.CopyFS(work, os.DirFS(source)); err != nil {
		return err
	}
	for path, content := range g.Files {
		if err := WriteFile(filepath.Join(work, path), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, p := range g.Patches {
		if err := p.apply(work); err != nil {
			return err
		}
	}
	goSum := filepath.Join(work, "go.sum")
	sums, err := os.ReadFile(goSum)
	if err != nil {
		return err
	}
	sums = append(sums, strings.Join(g.Sums, "\n")+"\n"...)
	if err := WriteFile(goSum, sums, 0o644); err != nil {
		return err
	}
	_, err = c.GoCommand(ctx, work, nil, append([]string{"mod", "edit"}, g.ModEdits...)...)
	return err
}

// DownloadModule fetches a module into the cache, checks it against its pinned checksum and returns
// its folder. The pin replaces the checksum database, which does not know some of these modules;
// their dependencies are checked against their go.sum as usual.
func (c Cache) DownloadModule(ctx context.Context, m GoModule) (string, error) {
	out, err := c.GoCommand(ctx, string(c), []string{"GONOSUMDB=" + m.Path}, "mod", "download", "-json", m.String())
	if err != nil {
		return "", err
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &got); err != nil {
		return "", fmt.Errorf("read the output of go mod download for %s: %w", m, err)
	}
	if got.Sum != m.Sum {
		return "", fmt.Errorf("module %s has the checksum %s, not the pinned %s", m, got.Sum, m.Sum)
	}
	return got.Dir, nil
}

// GoCommand runs the host's go, which downloads goVersion if it is a different version, with its
// caches inside ours.
func (c Cache) GoCommand(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GOTOOLCHAIN=go"+GoVersion, "GOWORK=off", "GOFLAGS=-modcacherw", "CGO_ENABLED=0",
		"GOMODCACHE="+c.Path("go", "mod"),
		"GOCACHE="+c.Path("go", "build"))
	cmd.Env = append(cmd.Env, env...)
	return Output(cmd)
}
