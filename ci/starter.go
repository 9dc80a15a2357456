package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"dagger/slipway/internal/dagger"
)

const starterIgnore = `# What this machine made or was told.
/.env
/.slipway/
.terraform/
*.tfstate*
`

const starterEnv = `# Copy it to .env: the defaults of ` + "`dagger call`" + ` on this machine.
# Your age identity.
AGEKEY=file://~/.config/sops/age/keys.txt
# The engine keeps the data of environment local under this name.
LOCALDATA=slipway-local-%s
`

// Starter writes the files that a repository of your own begins with.
//
// They are one environment with its modules and playbook, the templates of its credentials, and the
// workflows. What exists already stays as it is. docs/adopt.md goes through it.
//
// +cache="never"
func (m *Slipway) Starter(
	ctx context.Context,
	// Your repository.
	//
	// +ignore=["*", "!.env.example", "!.github", "!.gitignore", "!.sops.yaml.example", "!ansible", "!credentials", "!environments", "!modules", "**/.terraform", "**/*.tfstate*"]
	into *dagger.Directory,
	// Environment to begin with: local needs no cloud account, test is on OVH.
	env string,
) (*dagger.Changeset, error) {
	if !m.SourceIsOurs {
		return nil, errors.New("the starter files are in Slipway's own repository, and this call works on another\n" +
			"hint: dagger -m ADDRESS call starter --into=. --env=" + env + ", with the ADDRESS that dagger.json has as source of the blueprint")
	}
	files, err := m.Source.Glob(ctx, "environments/*/environment.yaml")
	if err != nil {
		return nil, err
	}
	var envs []string
	for _, file := range files {
		envs = append(envs, path.Base(path.Dir(file)))
	}
	if !slices.Contains(envs, env) {
		return nil, fmt.Errorf("there is no environment %q to begin with\nhint: --env=%s", env, strings.Join(envs, ", --env="))
	}
	return dag.Directory().
		WithDirectory(".", m.Source, dagger.DirectoryWithDirectoryOpts{
			Include: []string{
				"credentials/README.md", "credentials/" + env + ".enc.env.example", "credentials/" + env + "-plan.enc.env.example",
				"environments/environment.schema.json", "environments/cluster.schema.json", "environments/flux.schema.json", "environments/" + env, "modules", "ansible",
				".sops.yaml.example", ".github/actions/dagger", ".github/workflows",
			},
			Exclude: []string{".github/workflows/test.yml", "ansible/tests"}, // of Slipway itself
		}).
		WithNewFile(".gitignore", starterIgnore).
		WithNewFile(".env.example", fmt.Sprintf(starterEnv, strings.ToLower(rand.Text()[:8]))).
		WithDirectory(".", into).
		Changes(into), nil
}
