package main

import "context"

// The checks need no secret and depend only on the files that they read, so they are cached.

// Environments lists the environments and checks the file of each.
func (m *Slipway) Environments(ctx context.Context) (string, error) {
	return m.check(ctx, "environments")
}

// Fmt lists the files that are not in OpenTofu's standard format.
func (m *Slipway) Fmt(ctx context.Context) (string, error) {
	return m.check(ctx, "fmt")
}

// Validate checks the code of every environment, or of one.
func (m *Slipway) Validate(
	ctx context.Context,
	// Folder below environments/. Default: all of them.
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

// tflint is built from its module, which the checksum database verifies.
//
// renovate: datasource=go depName=github.com/terraform-linters/tflint
const tflint = "github.com/terraform-linters/tflint@v0.64.0"

// Lint looks for mistakes that OpenTofu itself does not detect, with tflint.
//
// Its first call on an engine builds tflint, which takes a minute or two.
func (m *Slipway) Lint(ctx context.Context) (string, error) {
	t, err := m.targetWithoutKey(ctx)
	if err != nil {
		return "", err
	}
	golang, err := m.golang()
	if err != nil {
		return "", err
	}
	program := golang.
		WithEnvVariable("GOBIN", "/bin-of-tflint").
		// Of the layer, only the program is needed.
		WithExec([]string{"sh", "-c", "go install -trimpath -ldflags='-s -w' " + tflint + " && go clean -cache -modcache"}).
		File("/bin-of-tflint/tflint")
	t.container = t.container.WithFile("/usr/local/bin/tflint", program)
	return t.check(ctx, "lint")
}

func (m *Slipway) check(ctx context.Context, command string, flags ...string) (string, error) {
	t, err := m.targetWithoutKey(ctx)
	if err != nil {
		return "", err
	}
	return t.check(ctx, command, flags...)
}

func (t *target) check(ctx context.Context, command string, flags ...string) (string, error) {
	o, err := t.run(ctx, command, flags...)
	if err != nil {
		return "", err
	}
	return o.report, nil
}
