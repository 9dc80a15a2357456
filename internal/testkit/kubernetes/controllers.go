package kubernetes

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Controllers set the status of Deployments and of Flux' objects, as the real controllers do, until the test ends.
type Controllers struct {
	mu     sync.Mutex
	failed map[string]string // by kind: what a controller says

	inventory []any // of each Kustomization
}

// Applied has each Kustomization say that it has applied these objects, such as web_app_helm.toolkit.fluxcd.io_HelmRelease v2.
func (c *Controllers) Applied(objects ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inventory = []any{}
	for _, o := range objects {
		id, version, _ := strings.Cut(o, " ")
		c.inventory = append(c.inventory, map[string]any{"id": id, "v": version})
	}
}

// Fail has objects of a kind fail with this message, or no longer if it is empty.
func (c *Controllers) Fail(kind, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[kind] = message
}

// Reconcile starts controllers.
func (a *Administrator) Reconcile(t *testing.T) *Controllers {
	t.Helper()
	c := &Controllers{failed: map[string]string{}, inventory: []any{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.Tick(20 * time.Millisecond); ; {
			for _, r := range []schema.GroupVersionResource{
				{Group: "apps", Version: "v1", Resource: "deployments"},
				{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"},
				{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"},
				{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"},
				{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"},
			} {
				a.reconcile(t.Context(), c, r)
			}
			select {
			case <-t.Context().Done():
				return
			case <-tick:
			}
		}
	}()
	t.Cleanup(func() { <-ended })
	return c
}

// reconcile sets the status of each object whose status is not that of its generation. What fails is tried again.
func (a *Administrator) reconcile(ctx context.Context, c *Controllers, r schema.GroupVersionResource) {
	list, err := a.objects.Resource(r).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for i := range list.Items {
		o := &list.Items[i]
		c.mu.Lock()
		message, inventory := c.failed[o.GetKind()], c.inventory
		c.mu.Unlock()
		condition := map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "done", "lastTransitionTime": "2026-11-01T02:03:04Z"}
		if message != "" {
			condition["status"], condition["reason"], condition["message"] = "False", "Failed", message
		}
		next := map[string]any{"observedGeneration": o.GetGeneration(), "conditions": []any{condition}}
		if o.GetKind() == "Kustomization" {
			next["inventory"] = map[string]any{"entries": inventory}
		}
		if o.GetKind() == "Deployment" {
			condition["type"] = "Available"
			next["conditions"] = []any{condition, map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}}
			for _, count := range []string{"replicas", "readyReplicas", "availableReplicas", "updatedReplicas"} {
				next[count] = int64(1)
			}
		}
		if suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend"); suspended {
			continue
		}
		asked := o.GetAnnotations()["reconcile.fluxcd.io/requestedAt"]
		if asked != "" {
			next["lastHandledReconcileAt"] = asked
		}
		handled, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
		observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		before, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		if observed == o.GetGeneration() && handled == asked && len(before) > 0 && before[0].(map[string]any)["message"] == condition["message"] { //nolint:forcetypeassert // this loop has written it
			continue
		}
		o.Object["status"] = next
		_, _ = a.objects.Resource(r).Namespace(o.GetNamespace()).UpdateStatus(ctx, o, metav1.UpdateOptions{FieldManager: "controller"})
	}
}

// Objects returns all objects of a resource.
func (a *Administrator) Objects(t *testing.T, r schema.GroupVersionResource) []unstructured.Unstructured {
	t.Helper()
	list, err := a.objects.Resource(r).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}
