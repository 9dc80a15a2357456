package talos

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client/config"
	"go.yaml.in/yaml/v3"

	"slipway/internal/cluster"
	"slipway/internal/must"
)

// A parsedKubeconfig has the form that kubectl reads.
type parsedKubeconfig struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Clusters   []struct {
		Name    string
		Cluster struct {
			Server string
			CA     string `yaml:"certificate-authority-data"`
			Proxy  string `yaml:"proxy-url"`
		}
	}
	Users []struct {
		Name string
		User struct {
			Certificate string `yaml:"client-certificate-data"`
			Key         string `yaml:"client-key-data"`
		}
	}
	Contexts []struct {
		Name    string
		Context struct{ Cluster, User, Namespace string }
	}
	Current string `yaml:"current-context"`
}

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	must.Do(t, err)
	return data
}

// A kubeconfig makes its owner an administrator at the cluster's endpoint, for as long as asked and not a second longer.
func TestKubeconfig(t *testing.T) {
	b := bundle(t, "v1.14.1")
	made, err := Kubeconfig(&cluster.Cluster{Name: "home", Endpoint: "https://10.0.0.10:6443"}, b, 8*time.Hour, "")
	must.Do(t, err)
	var got parsedKubeconfig
	decoder := yaml.NewDecoder(strings.NewReader(string(made.File)))
	decoder.KnownFields(true)
	must.Do(t, decoder.Decode(&got))
	if got.APIVersion != "v1" || got.Kind != "Config" || got.Current != "admin@home" || len(got.Clusters) != 1 || len(got.Users) != 1 || len(got.Contexts) != 1 {
		t.Fatalf("got\n%s", made.File)
	}
	server, user, context := got.Clusters[0], got.Users[0], got.Contexts[0]
	if server.Name != "home" || server.Cluster.Proxy != "" || server.Cluster.Server != "https://10.0.0.10:6443" || string(decoded(t, server.Cluster.CA)) != string(b.Certs.K8s.Crt) {
		t.Errorf("the cluster is %+v", server)
	}
	if c := context.Context; context.Name != got.Current || c.Cluster != server.Name || c.User != user.Name || user.Name != "admin@home" || c.Namespace != "default" {
		t.Errorf("the context is %+v", context)
	}
	key := decoded(t, user.User.Key)
	if string(key) != made.Key {
		t.Error("the key to hide is another one")
	}
	own, err := tls.X509KeyPair(decoded(t, user.User.Certificate), key)
	must.Do(t, err)
	certificate := own.Leaf
	if s := certificate.Subject; s.CommonName != "admin" || !slices.Equal(s.Organization, []string{"system:masters"}) || certificate.IsCA {
		t.Errorf("the certificate is for %s", s)
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(b.Certs.K8s.Crt)
	now := b.Clock.Now()
	for at, valid := range map[time.Duration]bool{0: true, 8 * time.Hour: true, 8*time.Hour + time.Second: false} {
		_, err := certificate.Verify(x509.VerifyOptions{Roots: authority, CurrentTime: now.Add(at), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if (err == nil) != valid {
			t.Errorf("after %s: %v", at, err)
		}
	}
	if !certificate.NotBefore.Equal(now.Add(-10*time.Second)) || !made.Until.Equal(certificate.NotAfter) {
		t.Errorf("valid from %s until %s, and it says until %s", certificate.NotBefore, certificate.NotAfter, made.Until)
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: authority, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
		t.Error("it can also be the certificate of a server")
	}
}

// Where a proxy leads to the cluster, kubectl and talosctl find it in their files.
func TestLoginByProxy(t *testing.T) {
	b := bundle(t, "v1.14.1")
	spec := &cluster.Cluster{Name: "home", Endpoint: "https://10.0.0.10:6443"}
	made, err := Kubeconfig(spec, b, time.Hour, "http://u:p@127.0.0.1:1")
	must.Do(t, err)
	var kube parsedKubeconfig
	must.Do(t, yaml.Unmarshal(made.File, &kube))
	if got := kube.Clusters[0].Cluster.Proxy; got != "http://u:p@127.0.0.1:1" {
		t.Errorf("the proxy of the kubeconfig is %q", got)
	}
	made, err = Talosconfig(spec, b, time.Hour, "http://u:p@127.0.0.1:1")
	must.Do(t, err)
	own, err := config.FromBytes(made.File)
	must.Do(t, err)
	if got := own.Contexts["home"].ProxyURL; got != "http://u:p@127.0.0.1:1" {
		t.Errorf("the proxy of the talosconfig is %q", got)
	}
}

// Secrets that cannot sign are refused without a word of them.
func TestLoginRefuses(t *testing.T) {
	spec := &cluster.Cluster{Name: "home"}
	b := bundle(t, "v1.14.1")
	b.Certs.K8s.Key, b.Certs.OS.Key = []byte("canary"), []byte("canary")
	_, err := Kubeconfig(spec, b, time.Hour, "")
	must.Fail(t, err, "certs.k8s in the secrets of the machines is not an authority")
	_, err = Talosconfig(spec, b, time.Hour, "")
	must.Fail(t, err, "certs.os in the secrets of the machines cannot sign a certificate")
	b.Certs.K8s.Key = b.Certs.Etcd.Key
	_, err = Kubeconfig(spec, b, time.Hour, "")
	must.Fail(t, err, "certs.k8s in the secrets of the machines cannot sign a certificate")
}
