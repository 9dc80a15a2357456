// Package flux makes what Flux publishes for the machines that reach no registry: the manifests of its controllers,
// out of Go modules.
package flux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"slipway/dev/engine/build"
)

// Version is the release whose manifests are made. Its controllers have versions of their own.
const Version = "v2.9.5"

var fluxModule = build.GoModule{
	Path:    "github.com/fluxcd/flux2/v2",
	Version: Version,
	Sum:     "h1:jwCccxvkD+2QnsjN+pl5QqM8KnFUwA8pIoQ1Lf0avkA=",
}

var kustomizeProgram = build.GoProgram{
	Module:   build.GoModule{Path: "sigs.k8s.io/kustomize/kustomize/v5", Version: "v5.8.1", Sum: "h1:Pgsg5psubpVEy7Nf6S89PARg5VmmWUC1l9dC6Dl4PG0="},
	Packages: []string{"."},
}

// Kustomize is the program that Flux makes its manifests with.
func Kustomize(c build.Cache) build.Product {
	return build.Product{
		Name:   "kustomize",
		Inputs: kustomizeProgram.Inputs(),
		Make:   func(ctx context.Context, dir string) error { return kustomizeProgram.Build(ctx, c, dir) },
	}
}

// ManifestsFile is the file in the product Manifests, and in what Flux publishes.
const ManifestsFile = "gotk-components.yaml"

// Manifests are those that `flux install --export` prints for the controllers.
func Manifests(c build.Cache) build.Product {
	inputs := []string{"flux manifests 1", fluxModule.String(), fluxModule.Sum}
	for _, k := range controllers {
		inputs = append(inputs, k.module.String(), k.module.Sum)
	}
	return build.Product{
		Name:   "flux-manifests",
		Inputs: append(inputs, Kustomize(c).Inputs...),
		Make: func(ctx context.Context, dir string) error {
			programs, err := c.Ensure(ctx, Kustomize(c))
			if err != nil {
				return err
			}
			work, err := os.MkdirTemp(c.Scratch(), "flux-")
			if err != nil {
				return err
			}
			if err := assemble(ctx, c, work); err != nil {
				return err
			}
			manifests, err := build.Output(exec.CommandContext(ctx, filepath.Join(programs, "kustomize"), "build", "--load-restrictor=LoadRestrictionsNone", filepath.Join(work, "gotk")))
			if err != nil {
				return err
			}
			return build.WriteFile(filepath.Join(dir, ManifestsFile), manifests, 0o644)
		},
	}
}

// assemble puts the release's manifests into dir, with the controllers' files in place of the URLs from which Flux
// downloads them.
func assemble(ctx context.Context, c build.Cache, dir string) error {
	source, err := c.DownloadModule(ctx, fluxModule)
	if err != nil {
		return err
	}
	manifests := filepath.Join(dir, "manifests")
	if err := os.CopyFS(manifests, os.DirFS(filepath.Join(source, "manifests"))); err != nil {
		return err
	}
	for _, k := range controllers {
		module, err := c.DownloadModule(ctx, k.module)
		if err != nil {
			return err
		}
		if err := os.CopyFS(filepath.Join(dir, k.name), os.DirFS(filepath.Join(module, "config"))); err != nil {
			return err
		}
		released := "https://github.com/fluxcd/" + k.name + "/releases/download/" + k.module.Version + "/" + k.name
		err = replace(filepath.Join(manifests, "bases", k.name, "kustomization.yaml"), map[string]string{
			released + ".crds.yaml":       "../../../" + k.name + "/crd",
			released + ".deployment.yaml": "../../../" + k.name + "/manager",
		})
		if err != nil {
			return err
		}
	}
	return writeInstall(filepath.Join(dir, "gotk"))
}

// writeInstall writes the kustomization that `flux install` makes: all of the manifests in the namespace flux-system, with the
// names, labels and images of a release.
func writeInstall(dir string) error {
	install := "namespace: flux-system\ntransformers: [labels.yaml]\npatches: [{path: system.yaml, target: {kind: Deployment}}]\n" +
		"resources: [../manifests/install/namespace.yaml, ../manifests/policies, roles"
	images := "images:\n"
	for _, k := range controllers {
		install += ", ../manifests/bases/" + k.name
		images += "  - {name: fluxcd/" + k.name + ", newName: ghcr.io/fluxcd/" + k.name + ", newTag: " + k.module.Version + "}\n"
	}
	for name, text := range map[string]string{
		"kustomization.yaml":       install + "]\n" + images,
		"roles/kustomization.yaml": "namespace: flux-system\nresources: [../../manifests/rbac]\nnameSuffix: -flux-system\n",
		"labels.yaml": "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: labels}\n" +
			"labels: {app.kubernetes.io/instance: flux-system, app.kubernetes.io/version: " + Version + ", app.kubernetes.io/part-of: flux}\n" +
			"fieldSpecs: [{path: metadata/labels, create: true}, {kind: Deployment, path: spec/template/metadata/labels, create: true}]\n",
		"system.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: all}\nspec: {template: {spec: {nodeSelector: {kubernetes.io/os: linux}}}}\n",
	} {
		if err := build.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces texts in a file, each of which has to be there.
func replace(file string, texts map[string]string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(data)
	for before, after := range texts {
		if !strings.Contains(text, before) {
			return fmt.Errorf("%s has no %q", file, before)
		}
		text = strings.ReplaceAll(text, before, after)
	}
	return build.WriteFile(file, []byte(text), 0o644)
}
