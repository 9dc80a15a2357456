// Package kubernetes runs Kubernetes without nodes: the real API server with its etcd. Only tests import it.
package kubernetes

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"slipway/internal/must"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// A Server is an API server.
type Server struct {
	URL  string
	Etcd *os.Process
	API  *os.Process
}

// An Authority issues the certificates of a cluster: PEM, as in the secrets of Talos' machines.
type Authority struct{ Certificate, Key []byte }

// Start starts an API server, and waits until it is ready. programs has kube-apiserver and etcd: .slipway/kubernetes, which
// dev/fetch-tools makes. What they have logged is shown if the test fails.
func Start(t *testing.T, programs string, authority Authority) *Server {
	t.Helper()
	address, folder := ownAddress(t), t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		must.Do(t, os.WriteFile(path, data, 0o600))
		return path
	}
	ca := write("ca.crt", authority.Certificate)
	certificate, key := authority.issue(t, pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth, net.ParseIP(address))
	account, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	accounts := write("accounts.key", encoded(t, account))

	database := "http://" + net.JoinHostPort(address, "2379")
	peers := "http://" + net.JoinHostPort(address, "2380")
	s := &Server{URL: "https://" + net.JoinHostPort(address, "6443")}
	s.Etcd = start(t, filepath.Join(programs, "etcd"),
		"--data-dir="+filepath.Join(folder, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+database, "--advertise-client-urls="+database,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers)
	s.API = start(t, filepath.Join(programs, "kube-apiserver"),
		"--etcd-servers="+database, "--bind-address="+address, "--secure-port=6443",
		"--tls-cert-file="+write("server.crt", certificate), "--tls-private-key-file="+write("server.key", key),
		"--client-ca-file="+ca, "--cert-dir="+folder, "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer="+s.URL, "--service-account-key-file="+accounts, "--service-account-signing-key-file="+accounts,
		"--endpoint-reconciler-type=none", // no pod could reach loopback
	)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(client.CloseIdleConnections)
	soon.Wait(t, "the API server is ready", func() bool {
		for _, p := range []*os.Process{s.Etcd, s.API} {
			if ended(p) {
				t.Fatal("a program of Kubernetes has ended")
			}
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/readyz", http.NoBody)
		must.Do(t, err)
		response, err := client.Do(request)
		if err != nil {
			return false
		}
		return errors.Join(response.Body.Close()) == nil && response.StatusCode == http.StatusOK
	})
	return s
}

// ownAddress is one of loopback that no other test has.
func ownAddress(t *testing.T) string {
	t.Helper()
	for i := 1; i < 255; i++ {
		address := fmt.Sprintf("127.87.0.%d", i)
		taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, "6440"))
		if err == nil {
			t.Cleanup(func() { _ = taken.Close() })
			return address
		}
	}
	t.Fatal("no address is left")
	return ""
}

// start starts a program until the test ends.
func start(t *testing.T, path string, args ...string) *os.Process {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: make tools", err)
	}
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(path), log.Bytes()[max(0, log.Len()-4000):])
		}
	})
	testkit.Start(t, cmd) // it is killed before its log is read
	return cmd.Process
}

// ended reports whether a program has ended. It is still to be waited for.
func ended(p *os.Process) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

// NewAuthority makes the authority of a cluster.
func NewAuthority(t *testing.T) Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	template := forADay(pkix.Name{CommonName: "kubernetes"})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must.Do(t, err)
	return Authority{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), encoded(t, key)}
}

// issue issues a certificate.
func (a Authority) issue(t *testing.T, subject pkix.Name, usage x509.ExtKeyUsage, addresses ...net.IP) (certificate, key []byte) {
	t.Helper()
	pair, err := tls.X509KeyPair(a.Certificate, a.Key)
	must.Do(t, err)
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	template := forADay(subject)
	template.KeyUsage, template.ExtKeyUsage, template.IPAddresses = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{usage}, addresses
	der, err := x509.CreateCertificate(rand.Reader, template, pair.Leaf, own.Public(), pair.PrivateKey)
	must.Do(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), encoded(t, own)
}

func forADay(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour)}
}

func encoded(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	must.Do(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}
