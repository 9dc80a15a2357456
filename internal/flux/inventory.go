package flux

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Applied returns the objects of Flux that a Kustomization has applied: only their kinds and names. It is empty for an object of
// another kind.
func Applied(o *unstructured.Unstructured) (objects []*unstructured.Unstructured) {
	entries, _, _ := unstructured.NestedSlice(o.Object, "status", "inventory", "entries")
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		parts := strings.Split(text(entry, "id"), "_") // NAMESPACE_NAME_GROUP_KIND; none of them has an underscore
		if len(parts) != 4 || !strings.HasSuffix(parts[2], Groups) {
			continue
		}
		applied := &unstructured.Unstructured{}
		applied.SetAPIVersion(parts[2] + "/" + text(entry, "v"))
		applied.SetKind(parts[3])
		applied.SetNamespace(parts[0])
		applied.SetName(parts[1])
		objects = append(objects, applied)
	}
	return objects
}
