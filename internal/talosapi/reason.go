package talosapi

import (
	"context"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"slipway/internal/tunnel"
)

// routes keeps, for each address, why the latest connection could not be opened on its way, or broke there: gRPC
// passes on no more than the text of an error.
type routes struct {
	mu     sync.Mutex
	broken map[string]*tunnel.Error
}

// note keeps an error, if it is one of the way to an address. nil means that there is a way.
func (r *routes) note(address string, err error) {
	lost, ok := errors.AsType[*tunnel.Error](err)
	if err != nil && !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = map[string]*tunnel.Error{}
	}
	r.broken[address] = lost
}

func (r *routes) why(address string) *tunnel.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken[address]
}

// connect opens a connection to a machine.
func (a *Access) connect(ctx context.Context, address string) (net.Conn, error) {
	c, err := a.Dial(ctx, endpoint(address))
	a.routes.note(address, err)
	if err != nil {
		return nil, err
	}
	return &noted{c, func(err error) { a.routes.note(address, err) }}, nil
}

// noted is a connection whose errors are kept.
type noted struct {
	net.Conn
	note func(error)
}

func (n *noted) Read(b []byte) (int, error) {
	count, err := n.Conn.Read(b)
	if err != nil {
		n.note(err)
	}
	return count, err
}

// reason says in a few words why the machine at an address did not answer. What a machine itself writes is not in
// it: Talos puts configurations into its messages.
func (a *Access) reason(address string, err error) string {
	if lost, ok := errors.AsType[*tunnel.Error](err); ok {
		return lost.Error()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded:
		return "it did not answer in time"
	case status.Code(err) == codes.PermissionDenied:
		return "it does not accept an administrator's certificate"
	case status.Code(err) == codes.Unimplemented:
		return "it does not know this call"
	case status.Code(err) == codes.Unavailable, status.Code(err) == codes.Unknown:
		if lost := a.routes.why(address); lost != nil {
			return lost.Error()
		}
		return "it cannot be reached"
	}
	return "it answered with the code " + status.Code(err).String()
}
