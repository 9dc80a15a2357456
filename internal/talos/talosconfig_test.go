package talos_test

import (
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"slipway/internal/must"
	"slipway/internal/talos"
	"slipway/internal/testkit/machines"
)

// versionBy asks a machine for its version, as talosctl does with a talosconfig.
func versionBy(t *testing.T, c *config.Config) (string, error) {
	t.Helper()
	connection, err := client.New(t.Context(), client.WithConfig(c))
	must.Do(t, err)
	defer connection.Close()
	reply, err := connection.Version(t.Context())
	if err != nil {
		return "", err
	}
	return reply.Messages[0].Version.Tag, nil
}

// A talosconfig makes its owner an administrator of the machines, through any control plane, for as long as asked.
func TestTalosconfig(t *testing.T) {
	m := machines.New(t, 3, "v1.14.1")
	m.Configure()
	made, err := talos.Talosconfig(m.Spec, m.Bundle, time.Hour, "")
	must.Do(t, err)
	got, err := config.FromBytes(made.File)
	must.Do(t, err)
	own := got.Contexts["home"]
	if got.Context != "home" || own == nil || len(got.Contexts) != 1 {
		t.Fatalf("got\n%s", made.File)
	}
	if want := []string{m.Node("a").Address, m.Node("b").Address, m.Node("c").Address}; !slices.Equal(own.Endpoints, want) || len(own.Nodes) > 0 {
		t.Errorf("endpoints %q, nodes %q", own.Endpoints, own.Nodes)
	}
	pair, err := client.CertificateFromConfigContext(own)
	must.Do(t, err)
	certificate := pair.Leaf
	if !slices.Equal(certificate.Subject.Organization, []string{"os:admin"}) || certificate.NotAfter.Sub(certificate.NotBefore) != 10*time.Second+time.Hour || !certificate.NotAfter.Equal(made.Until.Truncate(time.Second)) {
		t.Errorf("the certificate is for %s from %s until %s, and it says until %s", certificate.Subject, certificate.NotBefore, certificate.NotAfter, made.Until)
	}
	if version, err := versionBy(t, got); err != nil || version != "v1.14.1" {
		t.Errorf("a machine answers %q, %v", version, err)
	}

	m.Bundle.Clock = secrets.NewFixedClock(time.Now().Add(-2 * time.Hour))
	made, err = talos.Talosconfig(m.Spec, m.Bundle, time.Hour, "")
	must.Do(t, err)
	got, err = config.FromBytes(made.File)
	must.Do(t, err)
	must.Fail(t, refused(t, m.Node("a").Address, got.Contexts["home"]), "expired certificate")
}

// refused returns why a machine does not let in the owner of a talosconfig. In TLS 1.3 it says so after the client's
// handshake, so a client that writes at once may only see a broken pipe: this one reads.
func refused(t *testing.T, address string, own *config.Context) error {
	t.Helper()
	pair, err := client.CertificateFromConfigContext(own)
	must.Do(t, err)
	conn, err := tls.Dial("tcp", net.JoinHostPort(address, strconv.Itoa(constants.ApidPort)), &tls.Config{
		Certificates: []tls.Certificate{*pair}, InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
	})
	must.Do(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	return err
}
