package main

import "context"

// Plan shows what an apply would change: addresses and attributes, never a value.
//
// +cache="never"
func (m *Slipway) Plan(
	ctx context.Context,
	// Folder below environments/.
	env string,
	// Only this layer.
	//
	// +optional
	layer string,
) (string, error) {
	return m.onEnvironment(ctx, env, "plan", "--layer="+layer)
}

// onEnvironment runs a stage on an environment and returns its report.
func (m *Slipway) onEnvironment(ctx context.Context, env string, args ...string) (string, error) {
	container, err := m.stage(ctx, env)
	if err != nil {
		return "", err
	}
	_, report, err := m.effect(ctx, env, container, args...)
	return report, err
}
