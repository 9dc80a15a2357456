package flux

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway/internal/kubeapi"
)

// An inventory lists the objects of Flux among others.
func TestApplied(t *testing.T) {
	o := &unstructured.Unstructured{Object: object{"status": object{"inventory": object{"entries": []any{
		object{"id": "_web__Namespace", "v": "v1"},
		object{"id": "web_app_helm.toolkit.fluxcd.io_HelmRelease", "v": "v2"},
		object{"id": "web_app_apps_Deployment", "v": "v1"},
		object{"id": "flux-system_apps_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"},
		object{"id": "_system:node-proxier_rbac.authorization.k8s.io_ClusterRoleBinding", "v": "v1"},
		object{"id": "odd"}, "odd",
	}}}}}
	var names []string
	for _, applied := range Applied(o) {
		names = append(names, applied.GetAPIVersion()+" "+kubeapi.NameOf(applied))
	}
	if want := []string{"helm.toolkit.fluxcd.io/v2 HelmRelease/web/app", "kustomize.toolkit.fluxcd.io/v1 Kustomization/flux-system/apps"}; !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
	if got := Applied(&unstructured.Unstructured{}); got != nil {
		t.Errorf("got %v", got)
	}
}
