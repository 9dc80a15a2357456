// Package proxy is an HTTP proxy on loopback, for tools that cannot dial a cluster behind a bastion by themselves. It
// connects to the addresses that it was started with, and to no other, for clients with its password.
package proxy

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"slipway/internal/printable"
)

// A Proxy serves one run.
type Proxy struct {
	URL      string // of the form http://user:password@127.0.0.1:port
	Password string

	addresses []string
	dial      func(ctx context.Context, address string) (net.Conn, error)

	stop    context.CancelFunc
	serving sync.WaitGroup
}

const user = "slipway"

// Start serves CONNECT requests to these addresses, such as 10.0.0.11:50000, which dial reaches. It serves until Stop,
// or until ctx ends.
func Start(ctx context.Context, addresses []string, dial func(ctx context.Context, address string) (net.Conn, error)) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Password: rand.Text(), addresses: addresses, dial: dial}
	p.URL = (&url.URL{Scheme: "http", User: url.UserPassword(user, p.Password), Host: listener.Addr().String()}).String()
	ctx, p.stop = context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	p.serving.Go(func() {
		for {
			ours, err := listener.Accept()
			if err != nil {
				return
			}
			p.serving.Go(func() { p.serve(ctx, ours) })
		}
	})
	return p, nil
}

// Stop ends all connections. When it returns, none is left.
func (p *Proxy) Stop() {
	p.stop()
	p.serving.Wait()
}

// patience is how long a tool may take to say where it wants to go.
const patience = 10 * time.Second

// serve answers the only request of a connection: an error in the status line, which is all of it that tools show.
func (p *Proxy) serve(ctx context.Context, ours net.Conn) {
	defer ours.Close()
	defer context.AfterFunc(ctx, func() { _ = ours.Close() })()
	_ = ours.SetReadDeadline(time.Now().Add(patience))
	reader := bufio.NewReader(ours)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	_ = ours.SetReadDeadline(time.Time{})
	code, err := p.allow(request)
	if err != nil {
		answer(ours, code, err)
		return
	}
	theirs, err := p.dial(ctx, request.Host)
	if err != nil {
		answer(ours, http.StatusBadGateway, err)
		return
	}
	defer theirs.Close()
	defer context.AfterFunc(ctx, func() { _ = theirs.Close() })()
	fmt.Fprint(ours, "HTTP/1.1 200 Connection established\r\n\r\n")
	join(ours, reader, theirs)
}

// allow refuses a client without the password, and an address that is not one of the cluster.
func (p *Proxy) allow(r *http.Request) (code int, err error) {
	// A password for a proxy has the form of one for a server.
	like := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	_, given, _ := like.BasicAuth()
	switch {
	case subtle.ConstantTimeCompare([]byte(given), []byte(p.Password)) == 0:
		return http.StatusProxyAuthRequired, errors.New("this proxy is for a tool of the run that started it")
	case r.Method != http.MethodConnect:
		return http.StatusMethodNotAllowed, errors.New("this proxy only connects")
	case !slices.ContainsFunc(p.addresses, func(a string) bool { return strings.EqualFold(a, r.Host) }):
		return http.StatusForbidden, fmt.Errorf("%s is not an address of the cluster", r.Host)
	}
	return 0, nil
}

// answer says why there is no connection. A client that does not get it has gone.
func answer(to io.Writer, code int, why error) {
	fmt.Fprintf(to, "HTTP/1.1 %d %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", code, printable.Line(why.Error()))
}

// join copies both ways until one side ends. from has what the client sent right after its request.
func join(ours net.Conn, from io.Reader, theirs net.Conn) {
	var copying sync.WaitGroup
	copying.Go(func() {
		_, _ = io.Copy(theirs, from)
		_ = theirs.Close()
	})
	_, _ = io.Copy(ours, theirs)
	_ = ours.Close()
	copying.Wait()
}
