// Package pins reads the file that pins every image Slipway runs: ci/pins.env, or a file of the
// same format that a machine without a registry wrote for itself.
package pins

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// A Pin is one line of the file: NAME=repository:tag@digest.
type Pin struct {
	Name       string // such as OPENTOFU
	Repository string // including the registry, such as ghcr.io/opentofu/opentofu
	Tag        string // such as 1.12.6-minimal
	Digest     string // sha256: and 64 hexadecimal digits
}

// Version returns the tag up to its first dash, after which images name a variant: 1.12.6 for
// 1.12.6-minimal, trixie for trixie-slim.
func (p Pin) Version() string {
	version, _, _ := strings.Cut(p.Tag, "-")
	return version
}

var (
	namePattern      = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	referencePattern = regexp.MustCompile(`^([^:@\s]+(?::[0-9]+/[^:@\s]+)?):([^:@/\s]+)@(sha256:[0-9a-f]{64})$`)
)

// Read returns the pins in file order. It refuses a line that is not a pin, and a duplicate name;
// the error names the line.
func Read(r io.Reader) ([]Pin, error) {
	var pins []Pin
	seen := map[string]bool{}
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reference, _ := strings.Cut(line, "=")
		parts := referencePattern.FindStringSubmatch(reference)
		if !namePattern.MatchString(name) || parts == nil {
			return nil, fmt.Errorf("line %d: %q is not NAME=repository:tag@sha256:digest", number, line)
		}
		if seen[name] {
			return nil, fmt.Errorf("line %d: %s is pinned twice", number, name)
		}
		seen[name] = true
		pins = append(pins, Pin{Name: name, Repository: parts[1], Tag: parts[2], Digest: parts[3]})
	}
	return pins, lines.Err()
}

// ReadFile is Read for a file. Its errors name the file.
func ReadFile(name string) ([]Pin, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pins, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return pins, nil
}

// Reference returns what a container engine pulls.
func (p Pin) Reference() string { return p.Repository + ":" + p.Tag + "@" + p.Digest }
