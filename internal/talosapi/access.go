// Package talosapi talks to the API of Talos machines.
package talosapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	talosx509 "github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc"
)

// Access lets an administrator in to the machines of one cluster.
type Access struct {
	// Patience is how long a machine may take for one answer.
	Patience time.Duration

	// Dial opens a TCP connection to an address with a port. A tunnel.Error, from it or from its connections, is the
	// reason why a machine does not answer.
	Dial func(ctx context.Context, address string) (net.Conn, error)

	authority *x509.CertPool
	own       tls.Certificate
	routes    routes
}

// lifetime is that of the administrator's certificate, which is made for one run and never leaves it.
const lifetime = 24 * time.Hour

// NewAccess makes an administrator's certificate, in memory only.
func NewAccess(bundle *secrets.Bundle) (*Access, error) {
	made, err := bundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(role.Admin), lifetime)
	if err != nil {
		return nil, errors.New("the secrets of the machines have no authority that can sign a certificate")
	}
	a := &Access{Patience: 10 * time.Second, authority: x509.NewCertPool()}
	a.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	if a.own, err = tls.X509KeyPair(made.Crt, made.Key); err != nil {
		return nil, errors.New("the secrets of the machines make no usable certificate")
	}
	if !a.authority.AppendCertsFromPEM(bundle.Certs.OS.Crt) {
		return nil, errors.New("certs.os.crt in the secrets of the machines is not a certificate")
	}
	return a, nil
}

// Trusted connects to a machine of the cluster. Anything else at its address is refused.
func (a *Access) Trusted(ctx context.Context, address string) (*client.Client, error) {
	return a.dial(ctx, address, &tls.Config{RootCAs: a.authority, Certificates: []tls.Certificate{a.own}, MinVersion: tls.VersionTLS12})
}

// Maintenance connects to a machine without a configuration, whose certificate has this fingerprint.
func (a *Access) Maintenance(ctx context.Context, address, fingerprint string) (*client.Client, error) {
	return a.dial(ctx, address, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // its certificate is its own: the fingerprint tells it from others
		VerifyConnection: func(s tls.ConnectionState) error {
			if Fingerprint(s.PeerCertificates[0]) != fingerprint {
				return errOtherFingerprint
			}
			return nil
		},
	})
}

var errOtherFingerprint = errors.New("the certificate has another fingerprint")

// Fingerprint returns the SHA-256 of a certificate's public key in base64, as Talos' console prints it.
func Fingerprint(c *x509.Certificate) string { return talosx509.SPKIFingerprint(c).String() }

// dial returns a client that connects when it is first used. gRPC looks no name up, as the address is an IP address,
// and asks no proxy in this process's environment, as it has a dialer.
func (a *Access) dial(ctx context.Context, address string, settings *tls.Config) (*client.Client, error) {
	return client.New(ctx, client.WithTLSConfig(settings), client.WithEndpoints(endpoint(address)),
		client.WithGRPCDialOptions(grpc.WithDisableRetry(), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return a.connect(ctx, address)
		})))
}

func endpoint(address string) string {
	return net.JoinHostPort(address, fmt.Sprint(constants.ApidPort))
}

// A front is what a machine shows to somebody without a certificate.
type front struct {
	certificate *x509.Certificate
	open        bool // it lets in whoever comes: it is in maintenance mode
}

// look returns what is shown at an address, whoever shows it.
func (a *Access) look(ctx context.Context, address string) (front, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	raw, err := a.connect(ctx, address)
	if err != nil {
		return front{}, err
	}
	defer raw.Close()
	conn := tls.Client(raw, &tls.Config{
		InsecureSkipVerify: true, // nothing is sent, and the caller checks the certificate
		MinVersion:         tls.VersionTLS12, NextProtos: []string{"h2"},
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		return front{}, err
	}
	chain := conn.ConnectionState().PeerCertificates
	if len(chain) == 0 {
		return front{}, errors.New("it shows no certificate")
	}
	f := front{certificate: chain[0]}
	// A machine that lets us in begins to talk at once, as HTTP/2 demands. One that wants a certificate says so.
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	_, err = conn.Read(make([]byte, 1))
	f.open = err == nil
	if refused, ok := errors.AsType[*net.OpError](err); ok && refused.Op == "remote error" {
		return f, nil
	}
	return f, err
}

// isOurs reports whether a certificate is from the cluster's authority, even if it is out of date.
func (a *Access) isOurs(c *x509.Certificate) bool {
	_, err := c.Verify(x509.VerifyOptions{Roots: a.authority, CurrentTime: c.NotBefore.Add(time.Second), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}
