//go:build blackbox

package kubeapi_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"slipway/internal/kubeapi"
	"slipway/internal/must"
	"slipway/internal/testkit/kubernetes"
)

const programs = "../../.slipway/kubernetes"

// The client reaches a real server by the way that it is given, and explains why the server does not do something.
func TestBlackBoxAPI(t *testing.T) {
	authority := kubernetes.NewAuthority(t)
	s := kubernetes.Start(t, programs, authority)
	admin := s.Administrator(t, authority)
	config := func(server string, user *clientcmdapi.AuthInfo) []byte {
		text, err := clientcmd.Write(clientcmdapi.Config{
			CurrentContext: "test", Contexts: map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
			Clusters:  map[string]*clientcmdapi.Cluster{"test": {Server: server, CertificateAuthorityData: authority.Certificate}},
			AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": user},
		})
		must.Do(t, err)
		return text
	}
	own := &clientcmdapi.AuthInfo{ClientCertificateData: admin.Certificate, ClientKeyData: admin.Key}
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
		"no right to do so":  {config(s.URL, &clientcmdapi.AuthInfo{ClientCertificateData: admin.Certificate, ClientKeyData: admin.Key, Impersonate: "nobody"}), "the Kubernetes API refuses it: Forbidden"},
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
