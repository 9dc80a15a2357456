// Package flux reads what the objects of Flux say of themselves.
package flux

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Groups is the ending of the API groups of Flux.
const Groups = ".toolkit.fluxcd.io"

// A Status is what an object of Flux says of itself.
type Status struct {
	Kind, Namespace, Name string

	Revision  string // of its source, or of its chart; empty: none yet
	Ready     Ready
	Suspended bool
	Since     time.Time // when it became so; zero: unknown
	Reason    string    // one word; empty: none
	Message   string    // what the controller says, which can quote a secret
}

// Ready is whether an object is as it should be.
type Ready string

const (
	Yes     Ready = "yes"
	No      Ready = "no"
	Waiting Ready = "waiting" // its controller works on it, or has not seen it
	Silent  Ready = "-"       // objects of its kind do not say
)

// silent are the kinds that have no status: nothing reconciles them.
var silent = []string{"Alert", "Provider"}

// StatusOf reads an object.
func StatusOf(o unstructured.Unstructured) Status {
	s := Status{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Revision: revision(o.Object), Ready: Waiting, Reason: "NotReconciled"}
	s.Suspended, _, _ = unstructured.NestedBool(o.Object, "spec", "suspend")
	if slices.Contains(silent, s.Kind) {
		s.Ready, s.Reason = Silent, ""
		return s
	}
	observed, reconciled, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if text(condition, "type") != "Ready" {
			continue
		}
		s.Reason, s.Message = text(condition, "reason"), text(condition, "message")
		s.Since, _ = time.Parse(time.RFC3339, text(condition, "lastTransitionTime"))
		switch text(condition, "status") {
		case "True":
			s.Ready = Yes
		case "False":
			s.Ready = No
		}
	}
	switch {
	case o.GetDeletionTimestamp() != nil:
		s.Ready, s.Reason, s.Since = Waiting, "Deleting", o.GetDeletionTimestamp().UTC()
	case reconciled && observed >= 0 && observed < o.GetGeneration() && !s.Suspended:
		s.Ready, s.Reason = Waiting, "NotReconciled" // the condition is about what it was before
	}
	return s
}

// revision is what an object has fetched or applied.
func revision(object map[string]any) string {
	history, _, _ := unstructured.NestedSlice(object, "status", "history")
	if len(history) > 0 { // of a HelmRelease
		if newest, _ := history[0].(map[string]any); text(newest, "chartVersion") != "" {
			return text(newest, "chartVersion")
		}
	}
	status, _, _ := unstructured.NestedMap(object, "status")
	artifact, _ := status["artifact"].(map[string]any)
	return cmp.Or(text(status, "lastAppliedRevision"), text(artifact, "revision"))
}

func text(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

// Sort puts what needs attention first: what is not ready, then what is suspended. Otherwise the sources come before what is
// made of them.
func Sort(list []Status) {
	rank := func(s Status) int {
		switch {
		case s.Ready == No:
			return 0
		case s.Ready == Waiting:
			return 1
		case s.Suspended:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(list, func(a, b Status) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(place(a.Kind), place(b.Kind)), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// place is that of a kind in what Flux does: sources, charts, and what is made of them.
func place(kind string) int {
	order := []string{"GitRepository", "OCIRepository", "HelmRepository", "Bucket", "HelmChart", "Kustomization", "HelmRelease"}
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}
