//go:build blackbox

package kubeapi_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"slipway/internal/kubeapi"
	"slipway/internal/must"
	"slipway/internal/testkit/kubernetes"
	"slipway/internal/testkit/soon"
)

const programs = "../../.slipway/kubernetes"

// The client reaches a real server by the way that it is given, and explains why the server does not do something.
func TestBlackBoxAPI(t *testing.T) {
	authority := kubernetes.NewAuthority(t)
	s := kubernetes.Start(t, programs, authority)
	admin := s.Administrator(t, authority)
	own := &clientcmdapi.AuthInfo{ClientCertificateData: admin.Certificate, ClientKeyData: admin.Key}
	config := func(server string, user *clientcmdapi.AuthInfo) []byte {
		return kubernetes.Kubeconfig(t, server, authority, user)
	}
	dialed := 0
	api, err := kubeapi.New(config(s.URL, own), func(ctx context.Context, address string) (net.Conn, error) {
		dialed++
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	})
	must.Do(t, err)
	kinds, err := api.Kinds(t.Context(), ".k8s.io")
	must.Do(t, err)
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	if !slices.Contains(names, "NetworkPolicy") || slices.Contains(names, "TokenReview") || dialed != 1 {
		t.Errorf("%d connections, and the kinds %q", dialed, names)
	}

	for i := range 3 {
		admin.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: s%d, namespace: default}, stringData: {password: value-%d}}", i, i))
	}
	admin.Apply(t, "{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {name: release, namespace: default}, stringData: {release: chart}}")
	values, err := api.SecretValues(t.Context())
	must.Do(t, err)
	if slices.Sort(values); !slices.Equal(values, []string{"value-0", "value-1", "value-2"}) {
		t.Errorf("the values of the Secrets are %q", values)
	}

	for name, c := range map[string]struct {
		config []byte
		want   string
	}{
		"another login":      {config(s.URL, &clientcmdapi.AuthInfo{Token: "canary-of-a-token"}), "the Kubernetes API does not accept the login"},
		"another server":     {config("https://127.0.0.1:1", own), "the Kubernetes API does not answer: "},
		"no right to do so":  {config(s.URL, &clientcmdapi.AuthInfo{ClientCertificateData: admin.Certificate, ClientKeyData: admin.Key, Impersonate: "nobody"}), "the Kubernetes API refuses it: secrets is forbidden: User \"nobody\" cannot list resource"},
		"another's contents": {[]byte("canary-of-a-key"), "the kubeconfig cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			api, err := kubeapi.New(c.config, nil)
			if err == nil {
				_, err = api.SecretValues(t.Context())
				err = kubeapi.Why(err)
			}
			must.Fail(t, err, c.want)
		})
	}
}

// What is applied belongs to Slipway. A field of another manager is taken over only from those that may lose it.
func TestBlackBoxApply(t *testing.T) {
	authority := kubernetes.NewAuthority(t)
	s := kubernetes.Start(t, programs, authority)
	admin := s.Administrator(t, authority)
	api, err := kubeapi.New(admin.Kubeconfig(t), nil)
	must.Do(t, err)
	nobody := func(string) bool { return false }
	test := func(manager string) bool { return manager == "test" }
	object := func(text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		must.Do(t, yaml.Unmarshal([]byte(text), &o.Object))
		return o
	}
	apply := func(text string, takeOver func(string) bool, want kubeapi.Action) {
		t.Helper()
		must.Do(t, api.Try(t.Context(), object(text), takeOver))
		if got, err := api.Apply(t.Context(), object(text), takeOver); got != want || err != nil {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	const mine = "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: default}, data: {a: "
	apply(mine+"one}}", nobody, kubeapi.Created)
	apply(mine+"one}}", nobody, kubeapi.Unchanged)
	apply(mine+"two}}", nobody, kubeapi.Changed)

	admin.Apply(t, mine+"three, b: x}}")
	for name, ask := range map[string]func() error{
		"try":   func() error { return api.Try(t.Context(), object(mine+"four}}"), nobody) },
		"apply": func() error { _, err := api.Apply(t.Context(), object(mine+"four}}"), nobody); return err },
	} {
		if err := ask(); err == nil || err.Error() != "ConfigMap/default/mine has fields that others manage: .data.a of test" {
			t.Errorf("%s: %v", name, err)
		}
	}
	now, err := api.Get(t.Context(), object(mine+"x}}"))
	must.Do(t, err)
	if got, _, _ := unstructured.NestedStringMap(now.Object, "data"); got["a"] != "three" {
		t.Errorf("it has forced %q", got)
	}
	apply(mine+"four}}", test, kubeapi.Changed)

	// A kind, and a namespace, that come later.
	const later = "{apiVersion: example.org/v1, kind: Later, metadata: {name: a}}"
	must.Do(t, api.Try(t.Context(), object(later), nobody))
	must.Do(t, api.Try(t.Context(), object("{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: later}}"), nobody))
	admin.Apply(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: laters.example.org}, spec: {group: example.org, scope: Cluster,
  names: {kind: Later, plural: laters}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
	soon.Wait(t, "the kind is there", func() bool {
		action, err := api.Apply(t.Context(), object(later), nobody)
		return err == nil && action == kubeapi.Created
	})
	apply(later, nobody, kubeapi.Unchanged)
}
