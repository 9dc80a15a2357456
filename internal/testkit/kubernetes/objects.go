package kubernetes

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"slipway/internal/must"
	"slipway/internal/testkit/soon"
)

// An Administrator may do all on a server.
type Administrator struct {
	Certificate, Key []byte // PEM

	url       string
	authority Authority
	objects   dynamic.Interface
	kinds     discovery.DiscoveryInterface
}

// Administrator logs in with a certificate of the authority.
func (s *Server) Administrator(t *testing.T, authority Authority) *Administrator {
	t.Helper()
	a := &Administrator{url: s.URL, authority: authority}
	a.Certificate, a.Key = authority.issue(t, pkix.Name{CommonName: "test", Organization: []string{"system:masters"}}, x509.ExtKeyUsageClientAuth)
	config := &rest.Config{Host: s.URL, QPS: -1, WarningHandler: rest.NoWarnings{}, TLSClientConfig: rest.TLSClientConfig{
		CAData: authority.Certificate, CertData: a.Certificate, KeyData: a.Key,
	}}
	var err error
	a.objects, err = dynamic.NewForConfig(config)
	must.Do(t, err)
	a.kinds, err = discovery.NewDiscoveryClientForConfig(config)
	must.Do(t, err)
	return a
}

// Kubeconfig is that of the administrator.
func (a *Administrator) Kubeconfig(t *testing.T) []byte {
	t.Helper()
	return Kubeconfig(t, a.url, a.authority, &clientcmdapi.AuthInfo{ClientCertificateData: a.Certificate, ClientKeyData: a.Key})
}

// Kubeconfig is that of a user of a server.
func Kubeconfig(t *testing.T, url string, authority Authority, user *clientcmdapi.AuthInfo) []byte {
	t.Helper()
	text, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: "test", Contexts: map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		Clusters:  map[string]*clientcmdapi.Cluster{"test": {Server: url, CertificateAuthorityData: authority.Certificate}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": user},
	})
	must.Do(t, err)
	return text
}

// ApplyFile applies the objects in a file, as Apply does, of those kinds alone.
func (a *Administrator) ApplyFile(t *testing.T, path string, kinds ...string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must.Do(t, err)
	for _, document := range strings.Split(string(data), "\n---\n") {
		for _, kind := range kinds {
			if strings.Contains("\n"+document, "\nkind: "+kind+"\n") {
				a.Apply(t, document)
			}
		}
	}
}

// Apply makes or changes an object, as soon as the server knows its kind. It leaves its status alone.
func (a *Administrator) Apply(t *testing.T, document string) {
	t.Helper()
	o := parse(t, document)
	_, err := a.of(t, o).Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "test", Force: true})
	must.Do(t, err)
}

// SetStatus sets the status of an object, as a controller does: document has it, and what names the object.
func (a *Administrator) SetStatus(t *testing.T, document string) {
	t.Helper()
	o := parse(t, document)
	objects := a.of(t, o)
	soon.Wait(t, "the status is set", func() bool {
		now, err := objects.Get(t.Context(), o.GetName(), metav1.GetOptions{})
		must.Do(t, err)
		now.Object["status"] = o.Object["status"]
		_, err = objects.UpdateStatus(t.Context(), now, metav1.UpdateOptions{FieldManager: "controller"})
		if apierrors.IsConflict(err) {
			return false
		}
		must.Do(t, err)
		return true
	})
}

func parse(t *testing.T, document string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	must.Do(t, yaml.Unmarshal([]byte(document), &o.Object))
	return o
}

// of returns the objects among which o is.
func (a *Administrator) of(t *testing.T, o *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	var mapping *meta.RESTMapping
	soon.Wait(t, "the server knows the kind "+o.GetKind(), func() bool {
		groups, err := restmapper.GetAPIGroupResources(a.kinds)
		must.Do(t, err)
		version := o.GroupVersionKind()
		mapping, err = restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(schema.GroupKind{Group: version.Group, Kind: version.Kind}, version.Version)
		return err == nil
	})
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return a.objects.Resource(mapping.Resource).Namespace(o.GetNamespace())
	}
	return a.objects.Resource(mapping.Resource)
}
