package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"slipway/internal/must"
)

// started is a proxy to api.example.org:6443, which leads to the server.
func started(t *testing.T, server string) (p *Proxy, dials *atomic.Int32) {
	t.Helper()
	dials = &atomic.Int32{}
	p, err := Start(t.Context(), []string{"api.example.org:6443", "[fd00::1]:50000"}, func(ctx context.Context, address string) (net.Conn, error) {
		dials.Add(1)
		if server == "" {
			return nil, errors.New("the bastion gate\r\ncannot be reached")
		}
		return new(net.Dialer).DialContext(ctx, "tcp", server)
	})
	must.Do(t, err)
	t.Cleanup(p.Stop)
	return p, dials
}

// clientOf uses a proxy as kubectl does.
func clientOf(t *testing.T, raw string, server *httptest.Server) *http.Client {
	t.Helper()
	at, err := url.Parse(raw)
	must.Do(t, err)
	transport := &http.Transport{Proxy: http.ProxyURL(at)}
	if server != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com"}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A client with the password reaches an address of the cluster, whatever its case, and what it sends comes back.
func TestConnect(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	t.Cleanup(server.Close)
	p, dials := started(t, server.Listener.Addr().String())
	sent := strings.Repeat("0123456789", 1<<16)
	response, err := clientOf(t, p.URL, server).Post("https://API.example.org:6443/", "text/plain", strings.NewReader(sent))
	must.Do(t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || string(got) != sent {
		t.Errorf("%d bytes of %d come back: %v", len(got), len(sent), err)
	}
	if dials.Load() != 1 {
		t.Errorf("it is dialled %d times", dials.Load())
	}
}

// Nobody else gets through, and nothing else is dialled.
func TestRefused(t *testing.T) {
	p, dials := started(t, "127.0.0.1:1")
	for name, c := range map[string]struct{ proxy, target, message string }{
		"no password":          {strings.Replace(p.URL, "slipway:"+p.Password+"@", "", 1), "https://api.example.org:6443/", "this proxy is for a tool of the run that started it"},
		"another password":     {strings.Replace(p.URL, p.Password, "x"+p.Password[1:]+"x", 1), "https://api.example.org:6443/", "this proxy is for a tool of the run that started it"},
		"an empty password":    {strings.Replace(p.URL, p.Password, "", 1), "https://api.example.org:6443/", "this proxy is for a tool of the run that started it"},
		"another host":         {p.URL, "https://other.example.org:6443/", "other.example.org:6443 is not an address of the cluster"},
		"another port":         {p.URL, "https://api.example.org:22/", "api.example.org:22 is not an address of the cluster"},
		"the default port":     {p.URL, "https://api.example.org/", "api.example.org:443 is not an address of the cluster"},
		"a neighbour, by IPv6": {p.URL, "https://[fd00::2]:50000/", "[fd00::2]:50000 is not an address of the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := clientOf(t, c.proxy, nil).Get(c.target)
			if err == nil {
				response.Body.Close()
			}
			must.Fail(t, err, c.message)
		})
	}
	response, err := clientOf(t, p.URL, nil).Get("http://api.example.org:6443/")
	must.Do(t, err)
	response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a request that is not encrypted: %s", response.Status)
	}
	if dials.Load() != 0 {
		t.Errorf("%d addresses are dialled", dials.Load())
	}
}

// A tool shows why an address cannot be reached.
func TestUnreachable(t *testing.T) {
	p, dials := started(t, "")
	response, err := clientOf(t, p.URL, nil).Get("https://api.example.org:6443/")
	if err == nil {
		response.Body.Close()
	}
	must.Fail(t, err, `the bastion gate`)
	must.Fail(t, err, `cannot be reached`)
	if dials.Load() != 1 {
		t.Errorf("it is dialled %d times", dials.Load())
	}
}

// Stop ends a connection that is open, on both sides, one that is being dialled, and one that has said nothing yet.
func TestStop(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { _ = server.Close() })
	dialled, over := make(chan struct{}), atomic.Bool{}
	const silence = "[fd00::1]:50000"
	p, err := Start(t.Context(), []string{"api.example.org:6443", silence}, func(ctx context.Context, address string) (net.Conn, error) {
		if address != silence {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Addr().String())
		}
		close(dialled)
		<-ctx.Done()
		over.Store(true)
		return nil, ctx.Err()
	})
	must.Do(t, err)
	at, err := url.Parse(p.URL)
	must.Do(t, err)
	waiting, err := net.Dial("tcp", at.Host)
	must.Do(t, err)
	defer waiting.Close()
	request := &http.Request{Header: http.Header{}}
	request.SetBasicAuth(user, p.Password)
	ask := func(client net.Conn, address, more string) {
		fmt.Fprintf(client, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: %[2]s\r\n\r\n%[3]s", address, request.Header.Get("Authorization"), more)
	}
	ask(waiting, silence, "")
	<-dialled
	silent, err := net.Dial("tcp", at.Host)
	must.Do(t, err)
	defer silent.Close()
	client, err := net.Dial("tcp", at.Host)
	must.Do(t, err)
	defer client.Close()
	ask(client, "api.example.org:6443", "hello") // the greeting arrives together with the request
	machine, err := server.Accept()
	must.Do(t, err)
	defer machine.Close()
	greeting := make([]byte, 5)
	if _, err := io.ReadFull(machine, greeting); err != nil || string(greeting) != "hello" {
		t.Errorf("the machine is told %q, %v", greeting, err)
	}
	fromProxy := bufio.NewReader(client)
	response, err := http.ReadResponse(fromProxy, &http.Request{Method: http.MethodConnect})
	must.Do(t, err)
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("got %s", response.Status)
	}
	p.Stop()
	if !over.Load() {
		t.Error("a dial outlives it")
	}
	for name, side := range map[string]io.Reader{"client": fromProxy, "machine": machine, "silent client": silent} {
		if n, err := side.Read(make([]byte, 1)); err == nil {
			t.Errorf("the %s can still read %d bytes", name, n)
		}
	}
	if c, err := net.Dial("tcp", at.Host); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}

// When one side closes, the other learns of it.
func TestClosed(t *testing.T) {
	for _, first := range []string{"the client", "the machine"} {
		ours, client := net.Pipe()
		theirs, machine := net.Pipe()
		joined, from := make(chan struct{}), &lastRead{Reader: ours}
		go func() {
			join(ours, from, theirs)
			close(joined)
		}()
		closing, other := client, machine
		if first == "the machine" {
			closing, other = machine, client
		}
		must.Do(t, closing.Close())
		if _, err := other.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%s closes, and the other side reads %v", first, err)
		}
		<-joined
		if !from.over.Load() {
			t.Errorf("%s closes, and the client is still read", first)
		}
	}
}

// lastRead notes when nothing more can be read.
type lastRead struct {
	io.Reader
	over atomic.Bool
}

func (r *lastRead) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.over.Store(err != nil)
	return n, err
}
