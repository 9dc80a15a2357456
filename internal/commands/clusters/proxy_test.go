package clusters

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/client/config"

	"slipway/internal/clusters"
	"slipway/internal/environment"
	"slipway/internal/must"
	"slipway/internal/secrets"
	"slipway/internal/talos"
	"slipway/internal/testkit"
	"slipway/internal/testkit/bastion"
	"slipway/internal/testkit/machines"
)

// Tools that are given the address of the proxy reach a cluster behind a bastion: Talos' API as talosctl does, and the
// API server as kubectl does. What does not belong to the cluster stays out of reach.
func TestProxyBehindBastion(t *testing.T) {
	m, d, gate := machines.New(t, 1, "v1.14.1"), testkit.New(t), bastion.New(t)
	m.Configure()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pods") }))
	t.Cleanup(api.Close)
	var opened atomic.Int32
	gate.ConnectBy(func(address string) (net.Conn, error) {
		opened.Add(1)
		if strings.HasSuffix(address, ":6443") {
			address = api.Listener.Addr().String()
		}
		return net.Dial("tcp", address)
	})
	m.Spec.Endpoint = "https://api.example.org:6443"
	d.Environment.SSH = &environment.SSH{Jump: "gate"}
	d.Credentials = map[string]string{secrets.OperatorKey: gate.PEM}
	c := &clusters.Cluster{Run: d.Run, Spec: m.Spec, Secrets: m.Bundle, Listed: true}
	must.Do(t, c.Add(d.Layer, gate.Outputs(t)))
	must.Do(t, c.Complete())
	p, err := openProxy(t.Context(), c)
	must.Do(t, err)
	t.Cleanup(p.Stop)

	made, err := talos.Talosconfig(m.Spec, m.Bundle, time.Hour, p.URL)
	must.Do(t, err)
	parsed, err := config.FromBytes(made.File)
	must.Do(t, err)
	connection, err := client.New(t.Context(), client.WithConfig(parsed))
	must.Do(t, err)
	defer connection.Close()
	if reply, err := connection.Version(t.Context()); err != nil || reply.Messages[0].Version.Tag != "v1.14.1" {
		t.Errorf("a machine answers %v, %v", reply, err)
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("the bastion has opened %d connections", n)
	}

	at, err := url.Parse(p.URL)
	must.Do(t, err)
	roots := api.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	transport := &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}}
	t.Cleanup(transport.CloseIdleConnections)
	for target, message := range map[string]string{
		m.Spec.Endpoint: "",
		"https://" + m.Node("a").Address + ":6443":  "",
		"https://" + m.Node("a").Address + ":22":    "is not an address of the cluster",
		"https://" + gate.Host.Address + ":50000":   "is not an address of the cluster",
		"https://api.example.org:443":               "is not an address of the cluster",
		"https://" + m.Node("w").Address + ":50001": "is not an address of the cluster",
	} {
		response, err := (&http.Client{Transport: transport}).Get(target)
		if err == nil {
			response.Body.Close()
		}
		if message != "" {
			must.Fail(t, err, message)
		} else if err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
	d.Environment.SSH = nil
	if p, err := openProxy(t.Context(), c); p != nil || err != nil {
		t.Errorf("a cluster that is reached directly has a proxy: %v", err)
	}
}
