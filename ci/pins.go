package main

import (
	"context"
	"fmt"
	"strings"

	"dagger/slipway/internal/dagger"
)

// image starts a container from the pin of that name.
func (m *Slipway) image(ctx context.Context, name string) (*dagger.Container, error) {
	reference, err := m.reference(ctx, name)
	if err != nil {
		return nil, err
	}
	return dag.Container().From(reference), nil
}

// reference is the image that the pins file has for name, with its digest.
func (m *Slipway) reference(ctx context.Context, name string) (string, error) {
	text, err := m.Pins.Contents(ctx)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if reference, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return reference, nil
		}
	}
	return "", fmt.Errorf("the pins file has no %s", name)
}
