package flux

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RequestAnnotation asks for a reconciliation by another value, which the status has as lastHandledReconcileAt in the end.
const RequestAnnotation = "reconcile.fluxcd.io/requestedAt"

// SourceOf returns the source that a Kustomization or a release names, or nil. It has only its kind and its name.
func SourceOf(o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, fields := range [][]string{{"spec", "sourceRef"}, {"spec", "chartRef"}, {"spec", "chart", "spec", "sourceRef"}} {
		reference, there, _ := unstructured.NestedMap(o.Object, fields...)
		if !there {
			continue
		}
		source := &unstructured.Unstructured{}
		source.SetAPIVersion(cmp.Or(text(reference, "apiVersion"), "source.toolkit.fluxcd.io/v1"))
		source.SetKind(text(reference, "kind"))
		source.SetName(text(reference, "name"))
		source.SetNamespace(cmp.Or(text(reference, "namespace"), o.GetNamespace()))
		return source
	}
	return nil
}
