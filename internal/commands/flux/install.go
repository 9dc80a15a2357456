package flux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway/internal/fault"
	"slipway/internal/flux"
	"slipway/internal/hold"
	"slipway/internal/kubeapi"
	"slipway/internal/kubernetes"
	"slipway/internal/printable"
	"slipway/internal/redact"
	"slipway/internal/run"
	"slipway/internal/wait"
)

// Install installs Flux in a cluster.
func Install() run.Command {
	return run.Command{
		Name: "flux-install", Help: "install Flux in a cluster as flux.yaml describes it, and wait until it has reconciled",
		Opens: run.State,
		Run: func(ctx context.Context, r *run.Run) error {
			i, err := newInstaller(ctx, r)
			if err != nil {
				return err
			}
			if err := i.NeedStore(); err != nil {
				return err
			}
			return hold.Once(ctx, hold.Nodes(r), "flux install", i.install)
		},
	}
}

// An installer installs Flux.
type installer struct {
	*kubernetes.Cluster
	settings  *flux.Settings
	manifests *flux.Manifests
	prepared  []*unstructured.Unstructured

	patience patience
	counts   map[kubeapi.Action]int
}

// A patience is how long an install waits while nothing changes.
type patience struct {
	slow   time.Duration // for what its controller works on
	broken time.Duration // for what its controller has given up, and will try again
}

// newInstaller reads and downloads everything, and refuses what would fail later.
func newInstaller(ctx context.Context, r *run.Run) (*installer, error) {
	settings, err := flux.Load(os.DirFS(r.Repository), r.Env)
	if errors.Is(err, flux.ErrNone) {
		return nil, fault.Refuse("$EDITOR "+printable.Word(flux.Path(r.Env))+"   # its keys: environments/flux.schema.json", "environment %s has no Flux: there is no %s", r.Env, flux.Path(r.Env))
	}
	if err != nil {
		return nil, err
	}
	for _, v := range settings.Variables() {
		if r.Credentials[v] == "" {
			return nil, fault.Refuse(r.SetCommand(v), "%s names %s, which the credentials of %s do not have", flux.Path(r.Env), v, r.Env)
		}
	}
	i := &installer{settings: settings, patience: patience{slow: 10 * time.Minute, broken: 3 * time.Minute}, counts: map[kubeapi.Action]int{}}
	if i.prepared, err = settings.Prepared(r.Credentials, r.SetCommand); err != nil {
		return nil, err
	}
	if err := checkDecryption(r, settings); err != nil {
		return nil, err
	}
	if i.Cluster, err = kubernetes.Open(ctx, r); err != nil {
		return nil, err
	}
	err = r.Timed("pull the manifests", func() error {
		i.manifests, err = settings.Pull(ctx)
		return err
	})
	if err != nil {
		return nil, fault.New(fault.Unreachable, "$EDITOR "+printable.Word(flux.Path(r.Env))+"   # manifests:", "the manifests of Flux cannot be read from %s: %w", settings.Manifests, err)
	}
	return i, nil
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
func (i *installer) install(ctx context.Context) error {
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
	for _, step := range []struct {
		objects []*unstructured.Unstructured
		await   judge
	}{
		{first, nil},
		{i.manifests.Kinds, notCurrent},
		{i.manifests.Rest, notCurrent},
		{i.settings.Sync(), notReady},
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
	text := "nothing to do"
	if changed := i.counts[kubeapi.Created] + i.counts[kubeapi.Changed]; changed > 0 {
		text = fmt.Sprintf("%d created, %d changed", i.counts[kubeapi.Created], i.counts[kubeapi.Changed])
	}
	fmt.Fprintf(&i.Report, "%s: Flux %s, %s\n", i.Spec.Name, i.manifests.Version, text)
	return nil
}

// missing returns those of the objects that are not there.
func (i *installer) missing(ctx context.Context, objects []*unstructured.Unstructured) (missing []*unstructured.Unstructured, err error) {
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

// mayTakeOver reports whether another manager's fields become Slipway's: those of the ways in which people install Flux.
func mayTakeOver(manager string) bool {
	if slices.Contains([]string{"flux", "kustomize-controller", "flux-operator", "Helm", "helm"}, manager) {
		return true
	}
	return strings.HasPrefix(manager, "kubectl") || strings.HasPrefix(manager, "terraform")
}

// refused says why the server did not take an object.
func (i *installer) refused(ctx context.Context, o *unstructured.Unstructured, err error) error {
	if conflict, ok := errors.AsType[*kubeapi.ConflictError](err); ok {
		kubectl := []string{"get", o.GetKind(), o.GetName(), "-n", o.GetNamespace(), "-oyaml", "--show-managed-fields"}
		return fault.Refuse("dagger call cluster kubectl --env="+i.Env+" --args="+printable.Word(strings.Join(kubectl, ",")), "%w", conflict)
	}
	return i.Failed(ctx, fmt.Errorf("%s: %w", kubeapi.NameOf(o), err))
}

// A judge says why an object is not as it is to be; nothing if it is. broken means that its controller has given up.
type judge func(now *unstructured.Unstructured) (why string, broken bool)

// notCurrent judges objects of Kubernetes' own kinds.
func notCurrent(now *unstructured.Unstructured) (why string, broken bool) {
	result, err := status.Compute(now)
	switch {
	case err != nil:
		return err.Error(), true
	case result.Status == status.CurrentStatus:
		return "", false
	}
	return result.Message, result.Status == status.FailedStatus
}

// notReady judges objects of Flux.
func notReady(now *unstructured.Unstructured) (why string, broken bool) {
	s := flux.StatusOf(*now)
	switch s.Ready {
	case flux.Yes, flux.Silent:
		return "", false
	case flux.No:
		return s.Reason + ": " + s.Message, true
	}
	return s.Reason, false
}

// await waits for an object. It fails if the reason has been the same for too long.
func (i *installer) await(ctx context.Context, o *unstructured.Unstructured, ready judge) error {
	name := kubeapi.NameOf(o)
	last, since := "", time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		now, err := i.API.Get(ctx, o)
		if err != nil {
			return i.Failed(ctx, err)
		}
		why, broken := "it is gone", true
		if now != nil {
			why, broken = ready(now)
		}
		if why == "" {
			return nil
		}
		if last == "" {
			i.Say("waiting: %s", run.Word(name))
		}
		if why != last {
			last, since = why, time.Now()
		}
		limit := i.patience.slow
		if broken {
			limit = i.patience.broken
		}
		if time.Since(since) >= limit {
			return i.notYet(ctx, name, why)
		}
		if err := wait.For(ctx, pause); err != nil {
			return fault.New(fault.Interrupted, "dagger call flux install --env="+i.Env, "the wait for %s was interrupted", name)
		}
	}
}

// notYet says for what an install waited in vain. Controllers quote secrets in their messages.
func (i *installer) notYet(ctx context.Context, name, reason string) error {
	values, err := i.API.SecretValues(ctx)
	if err != nil {
		return i.Failed(ctx, err)
	}
	shown := printable.Shorten(strings.Join(strings.Fields(redact.New(values...).String(reason)), " "), longestMessage)
	return fault.New(fault.Unreachable, "dagger call flux status --env="+i.Env, "%s is not ready: %s", name, printable.Terminal(shown))
}
