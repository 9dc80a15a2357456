package flux

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway/internal/fault"
	"slipway/internal/flux"
	"slipway/internal/hold"
	"slipway/internal/kubeapi"
	"slipway/internal/kubernetes"
	"slipway/internal/printable"
	"slipway/internal/reconcile"
	"slipway/internal/run"
)

// Reconcile has an object of Flux reconciled now, after its source, and waits until it is ready.
func Reconcile() run.Command {
	return objectCommand("reconcile", "have an object of Flux reconciled now, after its source, and wait until it is ready", reconcileNow)
}

// Suspend stops the reconciliation of an object of Flux.
func Suspend() run.Command {
	return objectCommand("suspend", "stop the reconciliation of an object of Flux, until it is resumed", func(ctx context.Context, w *work) error { return w.setSuspended(ctx, true) })
}

// Resume goes on with the reconciliation of an object of Flux.
func Resume() run.Command {
	return objectCommand("resume", "go on with the reconciliation of an object of Flux, and wait until it is ready", func(ctx context.Context, w *work) error { return w.setSuspended(ctx, false) })
}

// work is that on one object.
type work struct {
	*kubernetes.Cluster
	object   *unstructured.Unstructured
	patience reconcile.Patience
	verb     string
}

func objectCommand(verb, help string, do func(context.Context, *work) error) run.Command {
	var name string
	return run.Command{
		Name: "flux-" + verb, Help: help,
		Opens: run.State,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&name, "object", "", "the object as KIND/NAMESPACE/NAME, such as Kustomization/flux-system/apps")
		},
		Run: func(ctx context.Context, r *run.Run) error {
			c, err := kubernetes.Open(ctx, r)
			if err != nil {
				return err
			}
			if err := c.NeedStore(); err != nil {
				return err
			}
			w := &work{Cluster: c, patience: reconcile.Usual, verb: verb}
			if w.object, err = w.find(ctx, name); err != nil {
				return err
			}
			s := hold.Nodes(r)
			call := s.Call
			s.Call = func(stage string) string {
				if stage == r.Result.Stage {
					return w.again()
				}
				return call(stage)
			}
			return hold.Once(ctx, s, "flux "+verb+" "+kubeapi.NameOf(w.object), func(ctx context.Context) error { return do(ctx, w) })
		},
	}
}

// again is the call that repeats this one.
func (w *work) again() string {
	return "dagger call flux " + w.verb + " --env=" + w.Env + " --object=" + printable.Word(kubeapi.NameOf(w.object))
}

// find returns the object of a name, as it is now.
func (w *work) find(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	status := "dagger call flux status --env=" + w.Env + "   # its columns KIND and NAME"
	parts := strings.Split(name, "/")
	if len(parts) != 3 || slices.Contains(parts, "") {
		return nil, fault.Refuse(status, "--object is %q, not KIND/NAMESPACE/NAME", name)
	}
	kinds, err := w.API.Kinds(ctx, flux.Groups)
	if err != nil {
		return nil, w.Failed(ctx, err)
	}
	for _, k := range kinds {
		if k.Name != parts[0] {
			continue
		}
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(k.Resource.GroupVersion().WithKind(k.Name))
		o.SetNamespace(parts[1])
		o.SetName(parts[2])
		now, err := w.API.Get(ctx, o)
		if err != nil {
			return nil, w.Failed(ctx, err)
		}
		if now != nil {
			return now, nil
		}
	}
	return nil, fault.Refuse(status, "%s has no object of Flux %s", w.Spec.Name, printable.Line(name))
}

// reconcileNow asks for the source first: otherwise the old revision would be applied again.
func reconcileNow(ctx context.Context, w *work) error {
	if flux.StatusOf(*w.object).Suspended {
		return reconcile.Suspended(w.Cluster, w.object)
	}
	objects := []*unstructured.Unstructured{w.object}
	if source := flux.SourceOf(w.object); source != nil {
		now, err := w.API.Get(ctx, source)
		if err != nil {
			return w.Failed(ctx, err)
		}
		if now != nil && !flux.StatusOf(*now).Suspended {
			objects = slices.Insert(objects, 0, now)
		}
	}
	for _, o := range objects {
		asked := time.Now().UTC().Format(time.RFC3339Nano)
		if err := w.API.Merge(ctx, o, map[string]any{"metadata": map[string]any{"annotations": map[string]any{flux.RequestAnnotation: asked}}}); err != nil {
			return w.Failed(ctx, err)
		}
		handled := func(now *unstructured.Unstructured) (string, bool) {
			if at, _, _ := unstructured.NestedString(now.Object, "status", "lastHandledReconcileAt"); at != asked {
				return "NotReconciled", false
			}
			return reconcile.Ready(now)
		}
		if err := reconcile.Await(ctx, w.Cluster, w.patience, w.again(), o, handled); err != nil {
			return err
		}
	}
	return w.show(ctx)
}

func (w *work) setSuspended(ctx context.Context, suspended bool) error {
	if flux.StatusOf(*w.object).Suspended == suspended {
		fmt.Fprintf(&w.Report, "%s: nothing to do\n", kubeapi.NameOf(w.object))
		return nil
	}
	if err := w.API.Merge(ctx, w.object, map[string]any{"spec": map[string]any{"suspend": suspended}}); err != nil {
		return w.Failed(ctx, err)
	}
	if suspended {
		fmt.Fprintf(&w.Report, "%s: suspended\n", kubeapi.NameOf(w.object))
		return nil
	}
	if err := reconcile.Await(ctx, w.Cluster, w.patience, w.again(), w.object, reconcile.Ready); err != nil {
		return err
	}
	return w.show(ctx)
}

// show says how the object is in the end.
func (w *work) show(ctx context.Context) error {
	now, err := w.API.Get(ctx, w.object)
	if err != nil {
		return w.Failed(ctx, err)
	}
	if now == nil {
		return fault.Fail("dagger call flux status --env="+w.Env, "%s is gone", kubeapi.NameOf(w.object))
	}
	s := flux.StatusOf(*now)
	fmt.Fprintf(&w.Report, "%s: ready at %s\n", kubeapi.NameOf(now), dash(s.Revision))
	return nil
}
