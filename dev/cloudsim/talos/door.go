package talos

import (
	"context"
	"net"
	"sync"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// A door is a machine's API from one start to the next. It is also the listener of its server.
type door struct {
	node   *Node
	server *grpc.Server
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	served sync.WaitGroup
}

// newDoor opens a machine's API. The lock is held.
func newDoor(n *Node) (*door, error) {
	settings, err := n.tls()
	if err != nil {
		return nil, err
	}
	d := &door{node: n, conns: make(chan net.Conn), closed: make(chan struct{})}
	d.server = grpc.NewServer(grpc.Creds(credentials.NewTLS(settings)), grpc.UnaryInterceptor(d.unary), grpc.StreamInterceptor(d.stream))
	machine.RegisterMachineServiceServer(d.server, &machineService{node: n})
	cosi.RegisterStateServer(d.server, &resourceService{node: n})
	d.served.Go(func() { _ = d.server.Serve(d) })
	return d, nil
}

// enter passes a connection in; false: the door is closed.
func (d *door) enter(conn net.Conn) bool {
	select {
	case d.conns <- conn:
		return true
	case <-d.closed:
		return false
	}
}

func (d *door) Accept() (net.Conn, error) {
	select {
	case conn := <-d.conns:
		return conn, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *door) Addr() net.Addr { return d.node.listener.Addr() }

func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

// shut lets calls end and closes the connections.
func (d *door) shut() {
	d.server.GracefulStop()
	d.served.Wait()
}

// slam closes the connections at once.
func (d *door) slam() {
	d.server.Stop()
	d.served.Wait()
}

func (d *door) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := d.let(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	reply, err := handler(ctx, request)
	if answers := d.node.cluster.Answers; err == nil && answers != nil {
		err = answers(d.node.Address, info.FullMethod)
	}
	return reply, err
}

func (d *door) stream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := d.let(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handler(service, stream)
}

// let refuses callers without the role that a method needs, and tells the test of the call, which may
// answer in the machine's place.
func (d *door) let(ctx context.Context, method string) error {
	if err := authorize(ctx, method); err != nil {
		return err
	}
	if calls := d.node.cluster.Calls; calls != nil {
		return calls(d.node.Address, method)
	}
	return nil
}
