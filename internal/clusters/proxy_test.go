package clusters_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/client/config"

	"slipway/internal/must"
	"slipway/internal/talos"
)

// Tools that are given the address of the proxy reach a cluster behind a bastion: Talos' API as talosctl does, and the
// API server as kubectl does. What does not belong to the cluster stays out of reach.
func TestProxyBehindBastion(t *testing.T) {
	s := newSite(t, 1, "v1.14.1")
	s.Configure()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pods") }))
	t.Cleanup(api.Close)
	b, opened := s.behind(t)
	b.ConnectBy(func(address string) (net.Conn, error) {
		opened.Add(1)
		if strings.HasSuffix(address, ":6443") {
			address = api.Listener.Addr().String()
		}
		return net.Dial("tcp", address)
	})
	s.Spec.Endpoint = "https://api.example.org:6443"
	c := s.open(t, b.Outputs(t))
	p, err := c.OpenProxy(t.Context())
	must.Do(t, err)
	t.Cleanup(p.Stop)

	made, err := talos.Talosconfig(s.Spec, s.Bundle, time.Hour, p.URL)
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
		s.Spec.Endpoint: "",
		"https://" + s.Node("a").Address + ":6443":  "",
		"https://" + s.Node("a").Address + ":22":    "is not an address of the cluster",
		"https://" + b.Host.Address + ":50000":      "is not an address of the cluster",
		"https://api.example.org:443":               "is not an address of the cluster",
		"https://" + s.Node("w").Address + ":50001": "is not an address of the cluster",
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
	s.desk.Environment.SSH = nil
	if p, err := c.OpenProxy(t.Context()); p != nil || err != nil {
		t.Errorf("a cluster that is reached directly has a proxy: %v", err)
	}
}
