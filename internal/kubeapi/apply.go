package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// manager is the name under which Slipway owns the fields that it applies.
const manager = "slipway"

// NameOf is the name of an object in messages, such as Deployment/flux-system/source-controller.
func NameOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + "/" + o.GetName()
	}
	return o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
}

// Get returns an object as it is now. There is none if it returns nil without an error, or its kind is unknown to the server.
func (a *API) Get(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	objects, err := a.of(ctx, o)
	if meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	if err != nil {
		return nil, err
	}
	now, err := objects.Get(ctx, o.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	return now, err
}

// An Action is what an apply did to an object.
type Action string

const (
	Created   Action = "created"
	Changed   Action = "changed"
	Unchanged Action = "unchanged"
)

// Apply makes an object what it is to be, by server-side apply. It fails with a ConflictError if that would change fields of another
// manager, unless all of these may be taken over.
func (a *API) Apply(ctx context.Context, o *unstructured.Unstructured, takeOver func(manager string) bool) (Action, error) {
	before, err := a.Get(ctx, o)
	if err != nil {
		return "", err
	}
	after, err := a.patch(ctx, o, metav1.ApplyOptions{})
	if conflict, ok := errors.AsType[*ConflictError](err); ok && !slices.ContainsFunc(conflict.Fields, func(f Field) bool { return !takeOver(f.Manager) }) {
		after, err = a.patch(ctx, o, metav1.ApplyOptions{Force: true})
	}
	switch {
	case err != nil:
		return "", err
	case before == nil:
		return Created, nil
	case before.GetResourceVersion() == after.GetResourceVersion(): // the server writes nothing if nothing changes
		return Unchanged, nil
	}
	return Changed, nil
}

// Try asks the server what Apply would do, and changes nothing. It fails as Apply would. An object whose kind or namespace the
// server does not have yet would be created.
func (a *API) Try(ctx context.Context, o *unstructured.Unstructured, takeOver func(manager string) bool) error {
	_, err := a.patch(ctx, o, metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}})
	conflict, ok := errors.AsType[*ConflictError](err)
	if ok && !slices.ContainsFunc(conflict.Fields, func(f Field) bool { return !takeOver(f.Manager) }) || meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Merge changes fields of an object that is there, whoever manages them.
func (a *API) Merge(ctx context.Context, o *unstructured.Unstructured, fields map[string]any) error {
	objects, err := a.of(ctx, o)
	if err != nil {
		return err
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager})
	return err
}

func (a *API) patch(ctx context.Context, o *unstructured.Unstructured, options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	objects, err := a.of(ctx, o)
	if err != nil {
		return nil, err
	}
	options.FieldManager = manager
	after, err := objects.Apply(ctx, o.GetName(), o, options)
	return after, conflictOf(o, err)
}

// of returns the objects among which o is, on the server.
func (a *API) of(ctx context.Context, o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := o.GroupVersionKind()
	mapping, err := a.names.RESTMappingWithContext(ctx, kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) { // the kind may be there since
		a.names.ResetWithContext(ctx)
		mapping, err = a.names.RESTMappingWithContext(ctx, kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return a.objects.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
	}
	return a.objects.Resource(mapping.Resource), nil
}

// A ConflictError means that an apply would change fields that other managers own.
type ConflictError struct {
	Object string
	Fields []Field
}

// A Field is one that a manager owns.
type Field struct{ Path, Manager string }

func (e *ConflictError) Error() string {
	texts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = fmt.Sprintf("%s of %s", f.Path, f.Manager)
	}
	return e.Object + " has fields that others manage: " + strings.Join(texts, ", ")
}

// conflictOf returns the server's error, and a ConflictError if it is a conflict of managers.
func conflictOf(o *unstructured.Unstructured, err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil {
		return err
	}
	conflict := &ConflictError{Object: NameOf(o)}
	for _, c := range status.ErrStatus.Details.Causes {
		if c.Type == metav1.CauseTypeFieldManagerConflict {
			// conflict with "kubectl" using apps/v1
			_, after, _ := strings.Cut(c.Message, `"`)
			name, _, _ := strings.Cut(after, `"`)
			conflict.Fields = append(conflict.Fields, Field{c.Field, name})
		}
	}
	if conflict.Fields == nil {
		return err
	}
	return conflict
}
