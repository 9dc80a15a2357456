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
	text, err := m.PinsFile.Contents(ctx)
	if err != nil {
		return nil, err
	}
	var resolved strings.Builder
	for line := range strings.Lines(text) {
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
func (m *Slipway) image(ctx context.Context, name string) (*dagger.Container, error) {
	reference, err := m.reference(ctx, name)
	if err != nil {
		return nil, err
	}
	return dag.Container().From(reference), nil
}

// reference returns the image for name in the pins file, with its digest.
func (m *Slipway) reference(ctx context.Context, name string) (string, error) {
	reference, err := m.pinned(ctx, name)
	if err == nil && reference == "" {
		err = fmt.Errorf("the pins file has no %s", name)
	}
	return reference, err
}

// pinned is reference for an image that need not be in the pins file.
func (m *Slipway) pinned(ctx context.Context, name string) (string, error) {
	text, err := m.PinsFile.Contents(ctx)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if reference, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return reference, nil
		}
	}
	return "", nil
}
