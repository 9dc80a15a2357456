package main

import (
	"context"
	"fmt"
	"strings"

	"dagger/slipway/internal/dagger"
)

// Pins looks up the pinned tags and returns the pins file with today's digests.
//
// Append `export --path=ci/pins.env`.
//
// +cache="never"
func (m *Slipway) Pins(ctx context.Context) (*dagger.File, error) {
	var resolved strings.Builder
	for line := range strings.Lines(m.PinsFile) {
		name, pin, _ := strings.Cut(strings.TrimSpace(line), "=")
		if tag, _, ok := strings.Cut(pin, "@"); ok && !strings.HasPrefix(name, "#") {
			reference, err := dag.Container().From(tag).ImageRef(ctx)
			if err != nil {
				return nil, err
			}
			line = name + "=" + reference + "\n"
		}
		resolved.WriteString(line)
	}
	return dag.File("pins.env", resolved.String()), nil
}

// image starts a container from the pin with that name.
func (m *Slipway) image(name string) (*dagger.Container, error) {
	reference := m.pinned(name)
	if reference == "" {
		return nil, fmt.Errorf("the pins file has no %s", name)
	}
	return dag.Container().From(reference), nil
}

// pinned returns the image for name in the pins file, with its digest; "" if the file has none.
func (m *Slipway) pinned(name string) string {
	for line := range strings.Lines(m.PinsFile) {
		if reference, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return reference
		}
	}
	return ""
}
