package acme

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The root in the configuration of the servers is the one that this program has.
func TestRootIsCommitted(t *testing.T) {
	want, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../ansible/group_vars/local/acme-root.pem")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("ansible/group_vars/local/acme-root.pem is not what cloudsim acme-root prints")
	}
}

// Whoever trusts the root accepts the certificate for the server's name, and for no
// name outside of the simulated cloud.
func TestIssue(t *testing.T) {
	text, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(text)) {
		t.Fatal("it is not a certificate")
	}
	certificate, key, err := Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: Domain}); err != nil {
		t.Error(err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "example.org"}); err == nil {
		t.Error("it holds for example.org")
	}
	parent, _, err := root()
	if err != nil || len(parent.PermittedDNSDomains) != 1 || !parent.PermittedDNSDomainsCritical {
		t.Errorf("the root vouches for %q, %v", parent.PermittedDNSDomains, err)
	}
}

// The bundle keeps each root once, also when it is opened again, and takes nothing else.
func TestBundle(t *testing.T) {
	b := &Bundle{Path: filepath.Join(t.TempDir(), "roots.pem")}
	ask := func(method, body string) (int, string) {
		t.Helper()
		server := httptest.NewServer(b)
		defer server.Close()
		request, err := http.NewRequest(method, server.URL+BundlePath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	if status, text := ask("GET", ""); status != http.StatusOK || text != "" {
		t.Errorf("at first: %d, %q", status, text)
	}
	one, _, err := Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{one, two, one} {
		if status, _ := ask("POST", text); status != http.StatusOK {
			t.Errorf("it is refused: %d", status)
		}
	}
	b = &Bundle{Path: b.Path}
	for _, text := range []string{"", "x", one + two, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if status, _ := ask("POST", text); status != http.StatusBadRequest {
			t.Errorf("%q: %d", text, status)
		}
	}
	if _, text := ask("GET", ""); text != one+two {
		t.Errorf("in the end: %s", text)
	}
}
