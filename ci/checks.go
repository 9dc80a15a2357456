package main

import "context"

// The checks need no secret, and are as good the second time: they are cached by
// what they read.

// Environments lists the environments and checks the file of each.
func (m *Slipway) Environments(ctx context.Context) (string, error) {
	return m.check(ctx, "environments")
}

// Fmt names the files that have not OpenTofu's standard form.
func (m *Slipway) Fmt(ctx context.Context) (string, error) {
	return m.check(ctx, "fmt")
}

// Validate checks the code of every environment, or of one.
func (m *Slipway) Validate(
	ctx context.Context,
	// Folder below environments/; all without it.
	//
	// +optional
	env string,
) (string, error) {
	return m.check(ctx, "validate", "--env="+env)
}

// Test runs the tests of the modules.
func (m *Slipway) Test(ctx context.Context) (string, error) {
	return m.check(ctx, "test")
}

func (m *Slipway) check(ctx context.Context, args ...string) (string, error) {
	toolchain, err := m.Toolchain(ctx)
	if err != nil {
		return "", err
	}
	_, report, err := finish(ctx, toolchain.Container.WithMountedDirectory("/repo", m.Source).WithMountedTemp("/work"), args)
	return report, err
}
