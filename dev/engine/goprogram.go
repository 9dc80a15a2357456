package main

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

// goVersion builds everything, whatever Go version the host has, so that the same sources give the
// same bytes everywhere. It is also the version in the golang image and the engine's Go SDK.
//
// renovate: datasource=golang-version depName=go
const goVersion = "1.26.8"

// goToolchain is that version as the Go project publishes it.
var goToolchain = goModule{
	path:    "golang.org/toolchain",
	version: "v0.0.1-go" + goVersion + ".linux-amd64",
	sum:     "h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=",
}

// A goModule is one version of a module with the checksum of its content. The checksum covers its
// go.mod and go.sum, and so everything it is built with.
type goModule struct{ path, version, sum string }

func (m goModule) String() string { return m.path + "@" + m.version }

// A goProgram is built inside its own module, because the replace lines of a go.mod only apply
// there.
type goProgram struct {
	module   goModule
	packages []string // relative to the module, such as ./cmd/tofu
	ldflags  string   // besides -s -w

	// For a module that does not build as the proxy serves it, because modules nested in its
	// repository are missing:
	modEdits []string          // arguments of go mod edit
	sums     []string          // lines to add to go.sum
	files    map[string]string // files to add: path in the module, content

	patches []patch // fixes for the module
}

// A patch replaces a text that occurs exactly once in one file of a module.
type patch struct{ path, old, new string }

// apply patches the module in dir.
func (p patch) apply(dir string) error {
	file := filepath.Join(dir, p.path)
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(content, []byte(p.old)); n != 1 {
		return fmt.Errorf("the text to replace occurs %d times in %s, not once: %q", n, p.path, p.old)
	}
	return writeFile(file, bytes.Replace(content, []byte(p.old), []byte(p.new), 1), 0o644)
}

// inputs lists everything that the program's bytes depend on.
func (g goProgram) inputs() []string {
	in := []string{goVersion, g.module.String(), g.module.sum, g.ldflags}
	in = slices.Concat(in, g.packages, g.modEdits, g.sums)
	for _, path := range slices.Sorted(maps.Keys(g.files)) {
		in = append(in, path, g.files[path])
	}
	for _, p := range g.patches {
		in = append(in, p.path, p.old, p.new)
	}
	return in
}

// name returns the file name that go build gives the first package.
func (g goProgram) name() string {
	if g.packages[0] != "." {
		return filepath.Base(g.packages[0])
	}
	return filepath.Base(majorVersion.ReplaceAllString(g.module.path, ""))
}

// majorVersion is the end of a module's path that is not part of its program's name.
var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// build compiles the program's packages into dir.
func (g goProgram) build(ctx context.Context, s settings, dir string) error {
	source, err := s.downloadModule(ctx, g.module)
	if err != nil {
		return err
	}
	if g.modEdits != nil || g.files != nil || g.patches != nil {
		// A fixed path, so that an interrupted build finds its objects again.
		work := filepath.Join(s.scratch(), filepath.Base(g.module.path))
		if err := g.adapt(ctx, s, source, work); err != nil {
			return err
		}
		source = work
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags=-s -w " + g.ldflags, "-o", dir + "/"}
	_, err = s.goCommand(ctx, source, nil, append(args, g.packages...)...)
	return err
}

// adapt copies the module to work, and changes what keeps it from building or is wrong in it.
func (g goProgram) adapt(ctx context.Context, s settings, source, work string) error {
	if err := os.CopyFS(work, os.DirFS(source)); err != nil {
		return err
	}
	for path, content := range g.files {
		if err := writeFile(filepath.Join(work, path), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, p := range g.patches {
		if err := p.apply(work); err != nil {
			return err
		}
	}
	goSum := filepath.Join(work, "go.sum")
	sums, err := os.ReadFile(goSum)
	if err != nil {
		return err
	}
	sums = append(sums, strings.Join(g.sums, "\n")+"\n"...)
	if err := writeFile(goSum, sums, 0o644); err != nil {
		return err
	}
	_, err = s.goCommand(ctx, work, nil, append([]string{"mod", "edit"}, g.modEdits...)...)
	return err
}

// downloadModule fetches a module into the cache, checks it against its pinned checksum and returns
// its folder. The pin replaces the checksum database, which does not know some of these modules;
// their dependencies are checked against their go.sum as usual.
func (s settings) downloadModule(ctx context.Context, m goModule) (string, error) {
	out, err := s.goCommand(ctx, s.cache, []string{"GONOSUMDB=" + m.path}, "mod", "download", "-json", m.String())
	if err != nil {
		return "", err
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &got); err != nil {
		return "", fmt.Errorf("read the output of go mod download for %s: %w", m, err)
	}
	if got.Sum != m.sum {
		return "", fmt.Errorf("module %s has the checksum %s, not the pinned %s", m, got.Sum, m.sum)
	}
	return got.Dir, nil
}

// goCommand runs the host's go, which downloads goVersion if it is a different version, with its
// caches inside ours.
func (s settings) goCommand(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GOTOOLCHAIN=go"+goVersion, "GOWORK=off", "GOFLAGS=-modcacherw", "CGO_ENABLED=0",
		"GOMODCACHE="+filepath.Join(s.cache, "go", "mod"),
		"GOCACHE="+filepath.Join(s.cache, "go", "build"))
	cmd.Env = append(cmd.Env, env...)
	return output(cmd)
}
