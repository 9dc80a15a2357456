package flux

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"slipway/internal/must"
)

const components = `apiVersion: v1
kind: Namespace
metadata: {name: flux-system, labels: {app.kubernetes.io/version: v9}}
---
---
kind: CustomResourceDefinition
metadata: {name: a, labels: {app.kubernetes.io/component: source-controller}}
---
kind: CustomResourceDefinition
metadata: {name: b, labels: {app.kubernetes.io/component: other-controller}}
---
kind: Deployment
metadata: {name: source-controller, labels: {app.kubernetes.io/component: source-controller, app.kubernetes.io/version: v9}}
spec: {template: {spec: {containers: [{name: manager, args: [--events-addr=http://notification-controller, --log-level=info]}]}}}
---
kind: ClusterRole
metadata: {name: r}
`

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		components []string
		events     string
		fails      string
	}{
		"without events": {[]string{"source-controller"}, "--events-addr=", ""},
		"with events":    {[]string{"source-controller", "notification-controller"}, "", "it has no notification-controller"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Settings{Components: c.components}
			m, err := f.parse([]byte(components))
			if c.fails != "" {
				must.Fail(t, err, c.fails)
				return
			}
			must.Do(t, err)
			if len(m.Namespace) != 1 || len(m.Kinds) != 1 || len(m.Rest) != 2 || m.Version != "v9" {
				t.Fatalf("got %d, %d, %d, %s", len(m.Namespace), len(m.Kinds), len(m.Rest), m.Version)
			}
			for _, o := range append(m.Kinds, m.Rest...) {
				if o.GetAnnotations()["kustomize.toolkit.fluxcd.io/prune"] != "disabled" {
					t.Errorf("Flux could delete %s", o.GetName())
				}
			}
			containers, _, _ := unstructured.NestedSlice(m.Rest[0].Object, "spec", "template", "spec", "containers")
			args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
			if strings.Join(args, " ") != c.events+" --log-level=info" {
				t.Errorf("its arguments are %q", args)
			}
		})
	}
	_, err := (&Settings{Components: usual[:1]}).parse([]byte("a: b\n  c: d\n"))
	must.Fail(t, err)
}

func TestUnpack(t *testing.T) {
	var archive bytes.Buffer
	files := tar.NewWriter(&archive)
	for _, f := range []struct{ name, text string }{{"a.yaml", "a: 1"}, {"README.md", "no"}, {"b/c.yaml", "c: 2"}} {
		must.Do(t, files.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.text)), Mode: 0o644}))
		_, err := files.Write([]byte(f.text))
		must.Do(t, err)
	}
	must.Do(t, files.Close())
	got, err := unpack(bytes.NewReader(archive.Bytes()))
	must.Do(t, err)
	if string(got) != "\n---\na: 1\n---\nc: 2" {
		t.Errorf("got %q", got)
	}
	for name, data := range map[string][]byte{"cut off": archive.Bytes()[:514], "no archive": bytes.Repeat([]byte("a: 1"), 200)} {
		if _, err := unpack(bytes.NewReader(data)); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
