// Package reconcile installs Flux in a cluster, and waits for what its controllers reconcile.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway/internal/fault"
	"slipway/internal/flux"
	"slipway/internal/hold"
	"slipway/internal/kubeapi"
	"slipway/internal/kubernetes"
	"slipway/internal/printable"
	"slipway/internal/run"
)

// An Installer installs Flux as flux.yaml describes it.
type Installer struct {
	*kubernetes.Cluster
	settings  *flux.Settings
	manifests *flux.Manifests
	prepared  []*unstructured.Unstructured

	patience Patience
	counts   map[kubeapi.Action]int
}

// Changed counts the objects that were made or changed.
func (i *Installer) Changed() int { return i.counts[kubeapi.Created] + i.counts[kubeapi.Changed] }

// Read reads what the repository and the credentials have for Flux, and refuses what would fail later. It returns flux.ErrNone if
// the environment has no Flux.
func Read(r *run.Run) (*Installer, error) {
	settings, err := flux.Load(os.DirFS(r.Repository), r.Env)
	if err != nil {
		return nil, err
	}
	for _, v := range settings.Variables() {
		if r.Credentials[v] == "" {
			return nil, fault.Refuse(r.SetCommand(v), "%s names %s, which the credentials of %s do not have", flux.Path(r.Env), v, r.Env)
		}
	}
	i := &Installer{settings: settings, patience: Usual, counts: map[kubeapi.Action]int{}}
	if i.prepared, err = settings.Prepared(r.Credentials, r.SetCommand); err != nil {
		return nil, err
	}
	return i, checkDecryption(r, settings)
}

// Install installs Flux in a cluster under the lock of its nodes, and waits until it has reconciled.
func (i *Installer) Install(ctx context.Context, c *kubernetes.Cluster) error {
	i.Cluster = c
	if err := c.NeedStore(); err != nil {
		return err
	}
	err := c.Timed("pull the manifests", func() (err error) {
		i.manifests, err = i.settings.Pull(ctx)
		return err
	})
	if err != nil {
		return fault.New(fault.Unreachable, "$EDITOR "+printable.Word(flux.Path(c.Env))+"   # manifests:", "the manifests of Flux cannot be read from %s: %w", i.settings.Manifests, err)
	}
	return hold.Once(ctx, hold.Nodes(c.Run), "flux install", i.install)
}

// checkDecryption refuses an age identity that could not decrypt what this repository has for Flux.
func checkDecryption(r *run.Run, s *flux.Settings) error {
	if s.Decryption == "" {
		return nil
	}
	recipient, err := flux.Recipient(r.Credentials[s.Decryption])
	if err != nil {
		return fault.Refuse(r.SetCommand(s.Decryption), "%s, with which Flux decrypts, is not usable: %w", s.Decryption, err)
	}
	file, recipients, err := flux.Foreign(os.DirFS(r.Repository), s.Path, recipient)
	if err != nil || file == "" {
		return err
	}
	return fault.Refuse("sops updatekeys "+printable.Word(file)+"   # after the key was added to .sops.yaml",
		"%s is encrypted to %s, and %s, with which Flux decrypts, is %s", file, strings.Join(recipients, ", "), s.Decryption, recipient)
}

// install does it step by step. Each is safe to repeat.
func (i *Installer) install(ctx context.Context) error {
	namespaces, err := i.missing(ctx, i.settings.Namespaces())
	if err != nil {
		return err
	}
	first := slices.Concat(i.manifests.Namespace, namespaces, i.prepared)
	all := slices.Concat(first, i.manifests.Kinds, i.manifests.Rest, i.settings.Sync())
	for _, o := range all { // before anything changes
		if err := i.API.Try(ctx, o, mayTakeOver); err != nil {
			return i.refused(ctx, o, err)
		}
	}
	if err := i.refuseSuspended(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		objects []*unstructured.Unstructured
		await   Judge
	}{
		{first, nil},
		{i.manifests.Kinds, current},
		{i.manifests.Rest, current},
		{i.settings.Sync(), Ready},
	} {
		for _, o := range step.objects {
			action, err := i.API.Apply(ctx, o, mayTakeOver)
			if err != nil {
				return i.refused(ctx, o, err)
			}
			if i.counts[action]++; action != kubeapi.Unchanged {
				i.Say("%s: %s", run.Word(kubeapi.NameOf(o)), run.Word(action))
			}
		}
		if step.await == nil {
			continue
		}
		for _, o := range step.objects {
			if err := i.await(ctx, o, step.await); err != nil {
				return err
			}
		}
	}
	if err := i.awaitTree(ctx, i.settings.Sync()[1]); err != nil {
		return err
	}
	text := "nothing to do"
	if i.Changed() > 0 {
		text = fmt.Sprintf("%d created, %d changed", i.counts[kubeapi.Created], i.counts[kubeapi.Changed])
	}
	fmt.Fprintf(&i.Report, "%s: Flux %s, %s\n", i.Spec.Name, i.manifests.Version, text)
	return nil
}

func (i *Installer) await(ctx context.Context, o *unstructured.Unstructured, ready Judge) error {
	return Await(ctx, i.Cluster, i.patience, "dagger call flux install --env="+i.Env, o, ready)
}

// awaitTree waits for what the Kustomizations have applied, and for what the Kustomizations among that have. Nobody works on what is
// suspended.
func (i *Installer) awaitTree(ctx context.Context, kustomizations ...*unstructured.Unstructured) error {
	seen := map[string]bool{} // `flux bootstrap` has one that applies itself
	for ; len(kustomizations) > 0; kustomizations = kustomizations[1:] {
		now, err := i.API.Get(ctx, kustomizations[0])
		if err != nil {
			return i.Failed(ctx, err)
		}
		if now == nil {
			continue // its await has found it
		}
		for _, o := range flux.Applied(now) {
			name := kubeapi.NameOf(o)
			if seen[name] {
				continue
			}
			seen[name] = true
			if now, err = i.API.Get(ctx, o); err != nil {
				return i.Failed(ctx, err)
			}
			if now == nil || flux.StatusOf(*now).Suspended {
				continue
			}
			if err := i.await(ctx, o, Ready); err != nil {
				return err
			}
			kustomizations = append(kustomizations, o)
		}
	}
	return nil
}

// missing returns those of the objects that are not there.
func (i *Installer) missing(ctx context.Context, objects []*unstructured.Unstructured) (missing []*unstructured.Unstructured, err error) {
	for _, o := range objects {
		now, err := i.API.Get(ctx, o)
		if err != nil {
			return nil, i.Failed(ctx, err)
		}
		if now == nil {
			missing = append(missing, o)
		}
	}
	return missing, nil
}

// refuseSuspended refuses to wait for what nobody reconciles.
func (i *Installer) refuseSuspended(ctx context.Context) error {
	for _, o := range i.settings.Sync() {
		now, err := i.API.Get(ctx, o)
		if err != nil {
			return i.Failed(ctx, err)
		}
		if now != nil && flux.StatusOf(*now).Suspended {
			return Suspended(i.Cluster, now)
		}
	}
	return nil
}

// Suspended refuses to work on an object that is suspended.
func Suspended(c *kubernetes.Cluster, o *unstructured.Unstructured) error {
	name := kubeapi.NameOf(o)
	return fault.Refuse("dagger call flux resume --env="+c.Env+" --object="+printable.Word(name), "%s is suspended", name)
}

// mayTakeOver reports whether another manager's fields become Slipway's: those of the ways in which people install Flux.
func mayTakeOver(manager string) bool {
	if slices.Contains([]string{"flux", "kustomize-controller", "flux-operator", "Helm", "helm"}, manager) {
		return true
	}
	return strings.HasPrefix(manager, "kubectl") || strings.HasPrefix(manager, "terraform")
}

// refused says why the server did not take an object.
func (i *Installer) refused(ctx context.Context, o *unstructured.Unstructured, err error) error {
	if conflict, ok := errors.AsType[*kubeapi.ConflictError](err); ok {
		kubectl := []string{"get", o.GetKind(), o.GetName(), "-n", o.GetNamespace(), "-oyaml", "--show-managed-fields"}
		return fault.Refuse("dagger call cluster kubectl --env="+i.Env+" --args="+printable.Word(strings.Join(kubectl, ",")), "%w", conflict)
	}
	return i.Failed(ctx, fmt.Errorf("%s: %w", kubeapi.NameOf(o), err))
}
