package main

import (
	"context"

	"dagger/slipway/internal/dagger"
)

// Secrets are the SOPS files below credentials/.
type Secrets struct {
	// +private
	Slipway *Slipway
}

// Secrets checks and changes the encrypted credentials.
func (m *Slipway) Secrets() *Secrets { return &Secrets{m} }

// Check checks that every file is unchanged and encrypted to exactly the recipients in .sops.yaml.
//
// +cache="never"
func (s *Secrets) Check(ctx context.Context) (string, error) {
	return s.Slipway.call(ctx, "", "secrets-check")
}

// Init creates a file from its template, FILE.example, and generates the values marked <random>.
//
// +cache="never"
func (s *Secrets) Init(
	ctx context.Context,
	// File to create, such as credentials/test.enc.env.
	file string,
) (*dagger.Changeset, error) {
	return s.change(ctx, nil, "secrets-init", "--file="+file)
}

// Set sets one variable.
//
// +cache="never"
func (s *Secrets) Set(
	ctx context.Context,
	// File with the variable, such as credentials/test.enc.env.
	file string,
	// Name of the variable.
	variable string,
	// Its value, such as env://VALUE or file:///dev/shm/value.
	value *dagger.Secret,
) (*dagger.Changeset, error) {
	return s.change(ctx, func(c *dagger.Container) *dagger.Container {
		return c.WithMountedSecret("/run/secrets/value", value)
	}, "secrets-set", "--file="+file, "--variable="+variable)
}

// Edit sets several variables: those of a dotenv file that is passed as a secret.
//
// +cache="never"
func (s *Secrets) Edit(
	ctx context.Context,
	// File with the variables, such as credentials/test.enc.env.
	file string,
	// Their names and values, such as file:///dev/shm/new.env.
	content *dagger.Secret,
) (*dagger.Changeset, error) {
	return s.change(ctx, func(c *dagger.Container) *dagger.Container {
		return c.WithMountedSecret("/run/secrets/content", content)
	}, "secrets-edit", "--file="+file)
}

// Rotate re-encrypts the files, or one of them, with a new data key.
//
// +cache="never"
func (s *Secrets) Rotate(
	ctx context.Context,
	// Only this file.
	//
	// +optional
	file string,
) (*dagger.Changeset, error) {
	return s.change(ctx, nil, "secrets-rotate", "--file="+file)
}

// UpdateKeys re-encrypts the files, or one of them, to the recipients in .sops.yaml.
//
// +cache="never"
func (s *Secrets) UpdateKeys(
	ctx context.Context,
	// Only this file.
	//
	// +optional
	file string,
) (*dagger.Changeset, error) {
	return s.change(ctx, nil, "secrets-updatekeys", "--file="+file)
}

// change runs a command that leaves new versions of files, and returns them.
func (s *Secrets) change(ctx context.Context, with func(*dagger.Container) *dagger.Container, command string, flags ...string) (*dagger.Changeset, error) {
	t, err := s.Slipway.target(ctx, "")
	if err != nil {
		return nil, err
	}
	if with != nil {
		t.container = with(t.container)
	}
	return t.changes(ctx, command, flags...)
}
