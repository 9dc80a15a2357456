package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"dagger/slipway/internal/dagger"
)

// Drift checks whether environments still match their code.
//
// It reports what was changed in the cloud, and separately what is in the code but not applied yet.
// It fails if an environment could not be checked.
//
// +cache="never"
func (m *Slipway) Drift(
	ctx context.Context,
	// Folder below environments/. Default: all of them.
	//
	// +optional
	env string,
	// Keep an issue for each environment that does not match its code.
	//
	// +optional
	issue bool,
	// Folder with env, the GITHUB_ variables of the job, and event.json: see docs/github.md.
	//
	// +optional
	github *dagger.Directory,
	// Token that may write issues.
	//
	// +optional
	token *dagger.Secret,
	// Print the issues that would be written, without writing them.
	//
	// +optional
	dryRun bool,
) (string, error) {
	all, err := m.environmentList(ctx)
	if err != nil {
		return "", err
	}
	envs := []string{env}
	if env == "" {
		envs = nil
		for _, e := range all {
			envs = append(envs, e.Name)
		}
	}
	checks := make([]driftCheck, len(envs))
	var group sync.WaitGroup
	for i, name := range envs {
		ansible := slices.Contains(all, environment{name, true})
		group.Go(func() { checks[i] = m.driftOf(ctx, name, ansible) })
	}
	group.Wait()
	results := dag.Directory()
	text, failed := "", false
	for i, c := range checks {
		text += c.text
		failed = failed || c.failed
		if c.out != nil {
			results = results.WithDirectory(envs[i], c.out)
		}
	}
	if issue || dryRun {
		issues, err := m.toGitHub(ctx, "drift-issues", results, envs, github, token, dryRun)
		text += issues
		if err != nil {
			return "", errors.New(text + err.Error())
		}
	}
	if failed {
		return "", errors.New(strings.TrimSpace(text))
	}
	return text, nil
}

// A driftCheck is the result of one environment's check.
type driftCheck struct {
	out    *dagger.Directory // nil: nothing
	text   string
	failed bool
}

func (m *Slipway) driftOf(ctx context.Context, env string, ansible bool) driftCheck {
	target := m.target
	if ansible {
		target = m.targetWithAnsible
	}
	t, err := target(ctx, env)
	if err != nil {
		return driftCheck{text: env + ": " + err.Error() + "\n", failed: true}
	}
	o, err := t.runUncached(ctx, "drift")
	if err != nil {
		c := driftCheck{text: err.Error() + "\n", failed: true}
		if o != nil {
			c.out = o.out
		}
		return c
	}
	return driftCheck{out: o.out, text: o.report}
}

// environment is an entry of environments.json.
type environment struct {
	Name    string `json:"name"`
	Ansible bool   `json:"ansible"` // its drift check runs Ansible too
}

// environmentList lists the environments, also those whose file is wrong.
func (m *Slipway) environmentList(ctx context.Context) ([]environment, error) {
	t, err := m.targetWithoutKey(ctx)
	if err != nil {
		return nil, err
	}
	o, err := t.run(ctx, "environments")
	if o == nil {
		return nil, err
	}
	text, err := o.out.File("environments.json").Contents(ctx)
	if err != nil {
		return nil, err
	}
	var list []environment
	return list, json.Unmarshal([]byte(text), &list)
}
