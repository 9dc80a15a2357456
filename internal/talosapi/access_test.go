package talosapi_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	sim "slipway/dev/cloudsim/talos"
	"slipway/internal/must"
	"slipway/internal/rollout"
	"slipway/internal/talos"
	"slipway/internal/testkit/bastion"
	"slipway/internal/testkit/machines"
	"slipway/internal/testkit/soon"
	"slipway/internal/tunnel"
)

// Every connection to a machine is opened by Dial, with the address as it is written: nothing else resolves it.
func TestDial(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	c.Configure()
	var lock sync.Mutex
	var dialled []string
	direct := c.Access.Dial
	c.Access.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		lock.Lock()
		defer lock.Unlock()
		dialled = append(dialled, address)
		if address == "[2001:db8::1]:50000" {
			return nil, errors.New("canary")
		}
		return direct(ctx, address)
	}
	address := c.Node("a").Address
	wanted, err := talos.Render(c.Spec, c.Node("a"), c.Bundle)
	must.Do(t, err)
	calls := []func() error{
		func() error { return errors.New(string(c.Observe("a").API)) },
		func() error { _, err := c.Access.Services(t.Context(), address); return err },
		func() error { _, err := c.Access.Logs(t.Context(), address, "kubelet", 1); return err },
		func() error { _, err := c.Access.Restarts(t.Context(), address, wanted); return err },
		func() error { return c.Access.Change(t.Context(), address, wanted) },
		func() error { _, err := c.Access.Bootstrap(t.Context(), address); return err },
		func() error { return c.Access.Configure(t.Context(), address, c.Machine("a").Fingerprint(), wanted) },
	}
	for i, call := range calls {
		dialled = nil
		err := call()
		if !slices.Contains(dialled, address+":50000") || slices.ContainsFunc(dialled, func(a string) bool { return a != address+":50000" }) {
			t.Errorf("call %d (%v) dials %q", i+1, err, dialled)
		}
	}
	o := c.Access.Observe(t.Context(), "2001:db8::1", true)
	if o.API != rollout.Silent || o.Why != "it cannot be reached" {
		t.Errorf("a machine that cannot be reached: %+v", o)
	}
	_, err = c.Access.Services(t.Context(), "2001:db8::1")
	must.Fail(t, err, "it cannot be reached")
	if last := dialled[len(dialled)-1]; last != "[2001:db8::1]:50000" {
		t.Errorf("it dials %q", last)
	}
}

// What shows a certificate, and then neither lets us in nor says that it wants ours, is no machine that answers.
func TestDialBroken(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	other := httptest.NewUnstartedServer(nil)
	other.EnableHTTP2 = true
	other.StartTLS()
	t.Cleanup(other.Close)
	for name, end := range map[string]func(conn *net.TCPConn, shown *tls.Conn) error{
		"it closes the connection": func(_ *net.TCPConn, shown *tls.Conn) error { return shown.Close() },
		"it breaks it":             func(conn *net.TCPConn, _ *tls.Conn) error { return errors.Join(conn.SetLinger(0), conn.Close()) },
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must.Do(t, err)
		served := make(chan error)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				served <- err
				return
			}
			shown := tls.Server(conn, other.TLS)
			served <- errors.Join(shown.HandshakeContext(t.Context()), end(conn.(*net.TCPConn), shown))
		}()
		c.Access.Dial = func(context.Context, string) (net.Conn, error) { return net.Dial("tcp", listener.Addr().String()) }
		if o := c.Observe("a"); o.API != rollout.Silent || o.Why != "it cannot be reached" {
			t.Errorf("%s: %+v", name, o)
		}
		must.Do(t, <-served)
		must.Do(t, listener.Close())
	}
}

// A way that leads nowhere ends with the machine's time to answer.
func TestDialPatience(t *testing.T) {
	c := machines.New(t, 1, "v1.14.1")
	c.Access.Patience = time.Millisecond
	c.Access.Dial = func(ctx context.Context, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	if o := c.Observe("a"); o.Why != "it did not answer in time" {
		t.Errorf("got %+v", o)
	}
	_, err := c.Access.Services(t.Context(), c.Node("a").Address)
	must.Fail(t, err, "it did not answer in time")
}

// A tunnel on the way has its own reasons, also for calls of which gRPC passes on no more than a text.
func TestTunnelReasons(t *testing.T) {
	c, b := machines.New(t, 1, "v1.14.1"), bastion.New(t)
	var cut atomic.Bool
	c.Sim.Calls = func(string, string) error {
		if cut.Load() {
			b.Cut()
			<-t.Context().Done()
		}
		return nil
	}
	c.Configure()
	c.Access.Dial = tunnel.New(t.Context(), b.Host, b.Private).Dial
	address := c.Node("a").Address
	_, err := c.Access.Services(t.Context(), address)
	must.Do(t, err)
	for why, refusal := range map[string]error{
		"it cannot be reached from the bastion gate":        errors.New("canary"),
		"the bastion gate does not allow connections to it": &ssh.OpenChannelError{Reason: ssh.Prohibited, Message: "canary"},
	} {
		b.ConnectBy(func(string) (net.Conn, error) { return nil, refusal })
		for _, ask := range []func() error{
			func() error { return errors.New(c.Observe("a").Why) },
			func() error { _, err := c.Access.Services(t.Context(), address); return err },
			func() error { _, err := c.Access.Bootstrap(t.Context(), address); return err },
		} {
			if err := ask(); err.Error() != why {
				t.Errorf("got %v, want %s", err, why)
			}
		}
	}
	b.ConnectBy(func(address string) (net.Conn, error) { return net.Dial("tcp", address) })
	_, err = c.Access.Services(t.Context(), address)
	must.Do(t, err)
	cut.Store(true)
	_, err = c.Access.Services(t.Context(), address)
	must.Fail(t, err, "the connection to the bastion gate broke")
	cut.Store(false)
	soon.Wait(t, "the bastion is back", func() bool {
		_, err := c.Access.Services(t.Context(), address)
		return err == nil
	})
	// That is over, and the machine is silent for another reason.
	c.Machine("a").Set(sim.Faults{Silent: true})
	_, err = c.Access.Services(t.Context(), address)
	if err == nil || err.Error() != "it cannot be reached" {
		t.Errorf("got %v", err)
	}
}
