//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestToolchainVersions(t *testing.T) {
	out := dagger(t, "call", "toolchain", "versions").must(t).stdout
	for _, row := range []string{`debian +trixie +trixie`, `go +1\.26\.8 +1\.26\.8`, `opentofu +1\.12\.6 +1\.12\.6`, `ansible-core +2\.19 +2\.19\.[0-9]+`} {
		if !regexp.MustCompile(`(?m)^` + row + ` *$`).MatchString(out) {
			t.Errorf("no row %q in\n%s", row, out)
		}
	}
}

// A pin whose tag promises another version than the image holds must fail the
// call and name the tool.
func TestToolchainMismatch(t *testing.T) {
	pins, err := os.ReadFile(pinsInUse(t))
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "pins.env")
	text := strings.Replace(string(pins), ":1.12.6-minimal@", ":1.12.5-minimal@", 1)
	if err := os.WriteFile(wrong, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := dagger(t, "call", "--pins="+wrong, "toolchain", "versions")
	if r.code == 0 || !strings.Contains(r.stderr, "opentofu does not match its pin") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// On a machine that serves its own images, the digests that a registry gives for
// the tags are the pinned ones.
func TestPins(t *testing.T) {
	needOwnEngine(t)
	pins, err := os.ReadFile(pinsInUse(t))
	if err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(t.TempDir(), "pins.env")
	zeros := regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	if err := os.WriteFile(stale, zeros.ReplaceAll(pins, []byte("sha256:"+strings.Repeat("0", 64))), 0o644); err != nil {
		t.Fatal(err)
	}
	out := dagger(t, "call", "--pins="+stale, "pins", "contents").must(t).stdout
	if strings.TrimSpace(out) != strings.TrimSpace(string(pins)) {
		t.Errorf("got\n%s\nwant\n%s", out, pins)
	}
}

// pinsInUse is the file that .env selects, else the one that ships.
func pinsInUse(t *testing.T) string {
	env, err := os.ReadFile(filepath.Join(repository, ".env"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(env)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "PINS="); ok {
			return filepath.Join(repository, path)
		}
	}
	return filepath.Join(repository, "ci", "pins.env")
}

// pinned is the image of that name in the pins file in use.
func pinned(t *testing.T, name string) string {
	t.Helper()
	return pinnedIn(t, pinsInUse(t), name)
}

// pinnedIn is the image of that name in a pins file.
func pinnedIn(t *testing.T, path, name string) string {
	t.Helper()
	pins, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(pins)) {
		if reference, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return reference
		}
	}
	t.Fatalf("there is no pin %s", name)
	return ""
}

// TestFunctions keeps `dagger functions` a table of contents: a name and one
// sentence on each line, and nothing that is not meant to be called.
func TestFunctions(t *testing.T) {
	// The heading is bold even where there is no terminal.
	out := regexp.MustCompile(`\x1b\[\d*m`).ReplaceAllString(dagger(t, "functions").must(t).stdout, "")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "Name") {
		t.Fatalf("unexpected\n%s", out)
	}
	for _, line := range lines[1:] {
		fields := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), 2)
		if len(fields) != 2 || !strings.HasSuffix(fields[1], ".") {
			t.Errorf("%q is not a name and a sentence", line)
		}
	}
}

// TestGeneratedCode fails where the committed generated code is not what the
// engine generates. The order of types is not compared: the generator takes that in which
// it happens to have read our files.
func TestGeneratedCode(t *testing.T) {
	module, err := os.ReadFile("../dagger.json")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.Fields(run(t, "dagger", "version").must(t).stdout)[1]
	if !strings.Contains(string(module), `"engineVersion": "`+version+`"`) {
		t.Skip("NOT RUN: dagger " + version + " is not the engineVersion of dagger.json, and generates other code")
	}
	const file = "../ci/dagger.gen.go"
	read := func() string {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	before := read()
	status := run(t, "git", "status", "--porcelain", "ci", "dagger.json").must(t).stdout
	dagger(t, "develop").must(t)
	lines := func(text string) []string { return slices.Sorted(strings.Lines(text)) }
	if slices.Equal(lines(before), lines(read())) {
		if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if now := run(t, "git", "status", "--porcelain", "ci", "dagger.json").must(t).stdout; now != status {
		t.Errorf("dagger develop changes:\n%s", now)
	}
}
