package talos

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	talosx509 "github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// readers may call these methods, administrators all. In maintenance mode everybody is a reader. From
// Talos 1.14, internal/app/machined/pkg/system/services/machined.go.
var readers = []string{
	"/machine.MachineService/ApplyConfiguration", // in maintenance mode only, which the method checks
	"/machine.MachineService/EtcdAlarmList", "/machine.MachineService/EtcdMemberList", "/machine.MachineService/EtcdStatus",
	"/machine.MachineService/List", "/machine.MachineService/Logs", "/machine.MachineService/ServiceList", "/machine.MachineService/Version",
	"/cosi.resource.State/Get", "/cosi.resource.State/List",
}

func authorize(ctx context.Context, method string) error {
	if roles := rolesOf(ctx); roles.Includes(role.Admin) || roles.Includes(role.Reader) && slices.Contains(readers, method) {
		return nil
	}
	return status.Error(codes.PermissionDenied, "not authorized")
}

// rolesOf returns the roles in the caller's certificate. Who has none is a reader: only machines in
// maintenance mode let such a caller in.
func rolesOf(ctx context.Context) role.Set {
	p, _ := peer.FromContext(ctx)
	info, _ := p.AuthInfo.(credentials.TLSInfo)
	if len(info.State.PeerCertificates) == 0 {
		return role.MakeSet(role.Reader)
	}
	roles, _ := role.Parse(info.State.PeerCertificates[0].Subject.Organization)
	return roles
}

// tls returns how the machine shows itself: with a certificate of its own in maintenance mode, and of the
// cluster's authority afterwards, which callers then need, too. The lock is held.
func (n *Node) tls() (*tls.Config, error) {
	if n.config == nil {
		return &tls.Config{Certificates: []tls.Certificate{n.self}, MinVersion: tls.VersionTLS13}, nil
	}
	security := n.config.Machine().Security()
	issuing := security.IssuingCA()
	if len(issuing.Key) == 0 {
		// A worker gets its certificate from a control plane, which has the key.
		other := n.cluster.issuer(string(issuing.Crt))
		if other == nil {
			return nil, errNoIssuer
		}
		issuing = other
	}
	authority, err := talosx509.NewCertificateAuthorityFromCertificateAndKey(issuing)
	if err != nil {
		return nil, err
	}
	pair, err := talosx509.NewKeyPair(authority, talosx509.IPAddresses([]net.IP{net.ParseIP(n.Address)}), talosx509.NotAfter(time.Now().Add(24*time.Hour)),
		talosx509.ExtKeyUsage([]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(issuing.Crt)
	return &tls.Config{Certificates: []tls.Certificate{*pair.Certificate}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}, nil
}

var errNoIssuer = errors.New("no control plane issues the worker's certificate")

// issuer returns the authority with this certificate and its key. The lock is held.
func (c *Cluster) issuer(certificate string) *talosx509.PEMEncodedCertificateAndKey {
	for _, n := range c.nodes {
		if n.config == nil {
			continue
		}
		if ca := n.config.Machine().Security().IssuingCA(); len(ca.Key) > 0 && string(ca.Crt) == certificate {
			return ca
		}
	}
	return nil
}

func selfSigned(address string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: fmt.Sprintf("maintenance-service.talos.dev at %s", address)},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.ParseIP(address)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
