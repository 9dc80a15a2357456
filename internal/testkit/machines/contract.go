package machines

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"slipway/internal/cluster"
	"slipway/internal/must"
	"slipway/internal/rollout"
	"slipway/internal/talos"
	"slipway/internal/talosapi"
	"slipway/internal/testkit/soon"
)

// Contract checks the behavior of a machine that Slipway relies on. The machine is the first control plane of
// a cluster that has not begun, and has no configuration yet. The checks need nothing but its API, so they are
// the same for real and for simulated machines. Its configurations have the patches that it needs to run at all.
func Contract(t *testing.T, spec *cluster.Cluster, bundle *secrets.Bundle, patches ...[]byte) {
	access, err := talosapi.NewAccess(bundle)
	must.Do(t, err)
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(bundle.Certs.OS.Crt)
	k := &contract{spec, bundle, patches, spec.Of(cluster.ControlPlane)[0], access, authority}
	for _, clause := range []struct {
		name  string
		check func(*testing.T)
	}{
		{"without a configuration", k.maintenance},
		{"its first configuration", k.first},
		{"what a reader may do", k.reader},
		{"a part of a configuration", k.part},
		{"before etcd begins", k.before},
		{"etcd begins", k.begin},
		{"a node of Kubernetes", k.kubernetes},
		{"another configuration", k.change},
		{"logs", k.logs},
	} {
		if !t.Run(clause.name, clause.check) {
			return // the others build on it
		}
	}
}

// A contract is Contract for one machine.
type contract struct {
	spec      *cluster.Cluster
	bundle    *secrets.Bundle
	patches   [][]byte
	node      cluster.Node
	access    *talosapi.Access
	authority *x509.CertPool
}

// connect returns a client that has a certificate with this role; empty: none.
func (k *contract) connect(t *testing.T, r role.Role) *client.Client {
	t.Helper()
	settings := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	if r != "" {
		made, err := k.bundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(r), constants.TalosAPIDefaultCertificateValidityDuration)
		must.Do(t, err)
		own, err := tls.X509KeyPair(made.Crt, made.Key)
		must.Do(t, err)
		settings = &tls.Config{RootCAs: k.authority, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
	}
	c, err := client.New(t.Context(), client.WithTLSConfig(settings), client.WithEndpoints(k.endpoint()))
	must.Do(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (k *contract) endpoint() string {
	return net.JoinHostPort(k.node.Address, fmt.Sprint(constants.ApidPort))
}

// shown returns the certificate that the machine shows.
func (k *contract) shown(t *testing.T) *x509.Certificate {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}}
	conn, err := dialer.DialContext(t.Context(), "tcp", k.endpoint())
	must.Do(t, err)
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// verify returns why a certificate is not one of the cluster's authority for the machine.
func (k *contract) verify(c *x509.Certificate) error {
	_, err := c.Verify(x509.VerifyOptions{Roots: k.authority, DNSName: k.node.Address})
	return err
}

func (k *contract) observe(t *testing.T) talosapi.Observation {
	return k.access.Observe(t.Context(), k.node.Address, true)
}

// config returns the machine's configuration with these patches.
func (k *contract) config(t *testing.T, patches ...string) config.Provider {
	t.Helper()
	texts := slices.Clone(k.patches)
	for _, p := range patches {
		texts = append(texts, []byte(p))
	}
	c, err := talos.Render(k.spec, k.node, k.bundle, texts...)
	must.Do(t, err)
	return c
}

// differs says how the machine's configuration differs from another.
func (k *contract) differs(t *testing.T, wanted config.Provider) string {
	t.Helper()
	o := k.observe(t)
	if o.Config == nil {
		return "it cannot be read"
	}
	now, err := talos.Settings(o.Config)
	must.Do(t, err)
	after, err := talos.Settings(wanted)
	must.Do(t, err)
	var lines []string
	for _, c := range talos.Diff(now, after) {
		lines = append(lines, c.String())
	}
	if o.Staged {
		lines = append(lines, "its next boot has another")
	}
	return strings.Join(lines, "\n")
}

// code checks the code of a call's error.
func code(t *testing.T, call string, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: %v, want the code %s", call, err, want)
	}
}

// maintenance: a machine without a configuration has a certificate of its own, always the same, and needs
// none from its callers. It says that it has no configuration, and a dry run gives it none.
func (k *contract) maintenance(t *testing.T) {
	shown := k.shown(t)
	if k.verify(shown) == nil {
		t.Error("it shows a certificate of the cluster's authority")
	}
	c := k.connect(t, "")
	data, err := k.config(t).EncodeBytes()
	must.Do(t, err)
	_, err = c.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: data, Mode: machine.ApplyConfigurationRequest_AUTO, DryRun: true})
	must.Do(t, err)
	if stage := stage(t, c); stage != "maintenance" {
		t.Errorf("it is in the stage %s", stage)
	}
	if o := k.observe(t); o.API != rollout.Maintenance || o.Busy || o.Fingerprint != talosapi.Fingerprint(shown) {
		t.Errorf("Slipway sees %+v", o)
	}
	// Up to Talos 1.12 another program answers in this mode, and does not say its version.
	version, err := c.Version(t.Context())
	if strings.HasPrefix(k.spec.Talos, "v1.12.") {
		code(t, "its version", err, codes.Unimplemented)
		return
	}
	must.Do(t, err)
	if tag := version.GetMessages()[0].GetVersion().GetTag(); tag != k.spec.Talos {
		t.Errorf("it is Talos %s", tag)
	}
}

// first: the configuration that it is given arrives unchanged. From then on its certificate is the
// cluster's, and so has to be the caller's.
func (k *contract) first(t *testing.T) {
	wanted := k.config(t)
	must.Do(t, k.access.Configure(t.Context(), k.node.Address, talosapi.Fingerprint(k.shown(t)), wanted))
	soon.Wait(t, "it has started with its configuration", func() bool {
		o := k.observe(t)
		return o.API == rollout.Configured && !o.Busy
	})
	must.Do(t, k.verify(k.shown(t)))
	_, err := k.connect(t, "").Version(t.Context())
	code(t, "a call without a certificate", err, codes.Unavailable)
	o, again := k.observe(t), k.observe(t)
	if o.Why != "" || o.Version != k.spec.Talos || o.Boot == "" || o.Boot != again.Boot || o.Owner != "" {
		t.Errorf("Slipway sees %+v, and then the boot %s", o, again.Boot)
	}
	if d := k.differs(t, wanted); d != "" {
		t.Errorf("it has another configuration:\n%s", d)
	}
}

// reader: a reader sees no configuration, and changes nothing.
func (k *contract) reader(t *testing.T) {
	c := k.connect(t, role.Reader)
	if stage(t, c) == "" {
		t.Error("it has no stage")
	}
	_, err := active(t, c)
	code(t, "its configuration", err, codes.PermissionDenied)
	data, err := k.config(t).EncodeBytes()
	must.Do(t, err)
	_, err = c.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: data, Mode: machine.ApplyConfigurationRequest_AUTO, DryRun: true})
	code(t, "a configuration", err, codes.PermissionDenied)
	_, err = active(t, k.connect(t, role.Admin))
	must.Do(t, err)
}

// part: a configuration has to be complete. One that is refused leaves the one before.
func (k *contract) part(t *testing.T) {
	_, err := k.connect(t, role.Admin).ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{
		Data: []byte("apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\ntimeout: 2m\n"), Mode: machine.ApplyConfigurationRequest_AUTO,
	})
	code(t, "a part of a configuration", err, codes.InvalidArgument)
	if d := k.differs(t, k.config(t)); d != "" {
		t.Errorf("it has another configuration:\n%s", d)
	}
}

// change: a machine says whether it would restart, which changes nothing. A sysctl is changed without a
// restart.
func (k *contract) change(t *testing.T) {
	boot := k.observe(t).Boot
	wanted := k.config(t, "machine: {sysctls: {vm.swappiness: \"20\"}}\n")
	restarts, err := k.access.Restarts(t.Context(), k.node.Address, wanted)
	must.Do(t, err)
	if restarts {
		t.Error("a sysctl would restart it")
	}
	if d := k.differs(t, k.config(t)); d != "" {
		t.Errorf("the question has changed its configuration:\n%s", d)
	}
	must.Do(t, k.access.Change(t.Context(), k.node.Address, wanted))
	soon.Wait(t, "it has the other configuration", func() bool { return k.differs(t, wanted) == "" })
	if now := k.observe(t).Boot; now != boot {
		t.Errorf("it was restarted: its boot was %s and is %s", boot, now)
	}
}

// logs: a service has logged, and no more is sent than was asked for. One that is unknown is refused.
func (k *contract) logs(t *testing.T) {
	one, err := k.access.Logs(t.Context(), k.node.Address, "etcd", 1)
	must.Do(t, err)
	many, err := k.access.Logs(t.Context(), k.node.Address, "etcd", 100)
	must.Do(t, err)
	if n, all := strings.Count(one, "\n"), strings.Count(many, "\n"); n == 0 || n >= all {
		t.Errorf("of the last line there are %d, and of the last 100 lines %d", n, all)
	}
	if text, err := k.access.Logs(t.Context(), k.node.Address, "nothing", 1); err == nil {
		t.Errorf("a service that does not exist has logged %q", text)
	}
}
