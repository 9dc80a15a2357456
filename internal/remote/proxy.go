package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Connect opens a connection to an address, through a proxy if there is one. The traffic is
// encrypted end to end, so the proxy need not be trusted.
func Connect(ctx context.Context, proxy, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if proxy == "" {
		return dialer.DialContext(ctx, "tcp", address)
	}
	at, err := url.Parse(proxy)
	if err != nil {
		return nil, err
	}
	connection, err := dialer.DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %w", at.Host, err)
	}
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
	reader := bufio.NewReader(connection)
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if err = request.Write(connection); err == nil {
		var response *http.Response
		// What follows is not a body but the connection itself.
		if response, err = http.ReadResponse(reader, request); err == nil && //nolint:bodyclose // it is the connection, which the caller closes
			response.StatusCode != http.StatusOK {
			err = errors.New(response.Status)
		}
	}
	if err != nil {
		_ = connection.Close()
		return nil, fmt.Errorf("the proxy %s cannot connect to %s: %w", at.Host, address, err)
	}
	_ = connection.SetDeadline(time.Time{})
	return &proxied{connection, reader}, nil
}

// proxied first reads what arrived together with the proxy's response.
type proxied struct {
	net.Conn
	reader *bufio.Reader
}

func (p *proxied) Read(b []byte) (int, error) { return p.reader.Read(b) }
