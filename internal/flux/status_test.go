package flux

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"slipway/internal/must"
)

func parsed(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	var o unstructured.Unstructured
	must.Do(t, yaml.Unmarshal([]byte(text), &o.Object))
	return o
}

func TestStatusOf(t *testing.T) {
	at := time.Date(2026, 11, 26, 2, 3, 4, 0, time.UTC)
	condition := func(status string) string {
		return `conditions: [{type: Reconciling, status: "True", reason: No}, {type: Ready, status: "` + status + `", reason: Done, message: applied, lastTransitionTime: "2026-11-26T02:03:04Z"}]`
	}
	const head = "kind: Kustomization\nmetadata: {name: apps, namespace: flux-system, generation: 2}\n"
	named := Status{Kind: "Kustomization", Namespace: "flux-system", Name: "apps"}
	with := func(change func(*Status)) Status {
		s := named
		s.Ready, s.Since, s.Reason, s.Message = Yes, at, "Done", "applied"
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		text string
		want Status
	}{
		"new": {head, with(func(s *Status) { *s = named; s.Ready, s.Reason = Waiting, "NotReconciled" })},
		"ready": {head + "status: {observedGeneration: 2, lastAppliedRevision: main@sha1:1, " + condition("True") + "}", with(func(s *Status) {
			s.Revision = "main@sha1:1"
		})},
		"not ready": {head + "status: {observedGeneration: 2, " + condition("False") + "}", with(func(s *Status) { s.Ready = No })},
		"unknown":   {head + "status: {observedGeneration: 2, " + condition("Unknown") + "}", with(func(s *Status) { s.Ready = Waiting })},
		"of an earlier generation": {head + "status: {observedGeneration: 1, " + condition("False") + "}", with(func(s *Status) {
			s.Ready, s.Reason = Waiting, "NotReconciled"
		})},
		// A controller does not look at an object that is suspended.
		"changed while suspended": {head + "spec: {suspend: true}\nstatus: {observedGeneration: 1, " + condition("True") + "}", with(func(s *Status) {
			s.Suspended = true
		})},
		"never reconciled": {head + "status: {observedGeneration: -1}", with(func(s *Status) { *s = named; s.Ready, s.Reason = Waiting, "NotReconciled" })},
		"being deleted": {"kind: Kustomization\nmetadata: {name: apps, namespace: flux-system, deletionTimestamp: \"2026-11-26T02:03:04Z\"}\nstatus: {" + condition("True") + "}", with(func(s *Status) {
			s.Ready, s.Reason = Waiting, "Deleting"
		})},
		"a source": {head + "status: {observedGeneration: 2, artifact: {revision: main@sha1:2}, " + condition("True") + "}", with(func(s *Status) {
			s.Revision = "main@sha1:2"
		})},
		"a release": {head + "status: {observedGeneration: 2, lastAttemptedRevision: 2.0.0, history: [{chartVersion: 1.0.0}, {chartVersion: 0.9.0}], " + condition("False") + "}", with(func(s *Status) {
			s.Ready, s.Revision = No, "1.0.0"
		})},
		"of a kind that has no status": {"kind: Alert\nmetadata: {name: apps, namespace: flux-system}\n", with(func(s *Status) {
			*s = named
			s.Kind, s.Ready = "Alert", Silent
		})},
		"odd": {head + "status: {observedGeneration: two, conditions: [1, {type: 2}], history: [3], artifact: 4}\nspec: {suspend: perhaps}", with(func(s *Status) {
			*s = named
			s.Ready, s.Reason = Waiting, "NotReconciled"
		})},
	} {
		t.Run(name, func(t *testing.T) {
			if got := StatusOf(parsed(t, c.text)); got != c.want {
				t.Errorf("got\n%+v, want\n%+v", got, c.want)
			}
		})
	}
}

func TestSort(t *testing.T) {
	want := []Status{
		{Kind: "HelmRelease", Name: "a", Ready: No},
		{Kind: "GitRepository", Name: "b", Ready: Waiting, Suspended: true},
		{Kind: "Kustomization", Name: "c", Ready: Waiting},
		{Kind: "GitRepository", Name: "d", Ready: Yes, Suspended: true},
		{Kind: "GitRepository", Name: "e", Ready: Yes},
		{Kind: "GitRepository", Namespace: "x", Name: "a", Ready: Yes},
		{Kind: "OCIRepository", Name: "a", Ready: Yes},
		{Kind: "Kustomization", Name: "f", Ready: Yes},
		{Kind: "HelmRelease", Name: "a", Ready: Yes},
		{Kind: "Alert", Name: "a", Ready: Silent},
		{Kind: "Provider", Name: "a", Ready: Silent},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}
