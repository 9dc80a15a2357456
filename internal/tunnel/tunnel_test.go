package tunnel

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"slipway/internal/must"
	"slipway/internal/remote"
	"slipway/internal/testkit/bastion"
	"slipway/internal/testkit/soon"
	"slipway/internal/wait"
)

// echo returns the address of a machine that says what it is told.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// said tells the other end something, and returns the error if it does not come back.
func said(c net.Conn) error {
	if _, err := io.WriteString(c, "hello"); err != nil {
		return err
	}
	answer := make([]byte, 5)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if string(answer) != "hello" {
		return errors.New("it said " + string(answer))
	}
	return nil
}

// lost checks that an error is one of the tunnel.
func lost(t *testing.T, err error, why string) {
	t.Helper()
	if e, ok := errors.AsType[*Error](err); !ok || e.Error() != why {
		t.Errorf("got %v, want %q", err, why)
	}
}

// Many connections at once share one login. Each knows when its machine closes it, and has deadlines.
func TestDial(t *testing.T) {
	b, address := bastion.New(t), echo(t)
	tunnel := New(t.Context(), b.Host, b.Private)
	must.Do(t, tunnel.Refused())
	connections := make([]net.Conn, 20)
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			c, err := tunnel.Dial(t.Context(), address)
			if err != nil {
				t.Error(err)
				return
			}
			connections[i] = c
			if err := said(c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	if n := b.Attempts(); n != 1 {
		t.Errorf("%d connections to the bastion", n)
	}
	must.Do(t, tunnel.Refused())
	first := connections[0]
	must.Do(t, first.SetReadDeadline(time.Now()))
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after its deadline: %v", err)
	}
	must.Do(t, first.Close())
	if err := said(first); err == nil {
		t.Error("it is closed, and answers")
	}
	must.Do(t, said(connections[1]))
}

// A machine that closes its connection is not taken for a bastion that is gone.
func TestClosed(t *testing.T) {
	b := bastion.New(t)
	ours, theirs := net.Pipe()
	b.ConnectBy(func(string) (net.Conn, error) { return theirs, nil })
	c, err := New(t.Context(), b.Host, b.Private).Dial(t.Context(), "192.0.2.1:50000")
	must.Do(t, err)
	must.Do(t, ours.Close())
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// When the connection to the bastion is cut, everything through it ends, and the next use opens it again.
func TestBreaks(t *testing.T) {
	t.Parallel()
	b, address := bastion.New(t), echo(t)
	tunnel := New(t.Context(), b.Host, b.Private)
	var connections []net.Conn
	for range 3 {
		c, err := tunnel.Dial(t.Context(), address)
		must.Do(t, err)
		must.Do(t, said(c))
		connections = append(connections, c)
	}
	b.Cut()
	for _, c := range connections {
		_, err := c.Read(make([]byte, 1))
		lost(t, err, "the connection to the bastion gate broke")
	}
	soon.Wait(t, "it is open again", func() bool {
		c, err := tunnel.Dial(t.Context(), address)
		return err == nil && said(c) == nil
	})
	if n := b.Logins(); n != 2 {
		t.Errorf("%d logins", n)
	}
}

// A bastion that is another one after a cut is not tried again, nor is one that refuses the key.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*testing.T, *bastion.Bastion)
		final  error
	}{
		"another host key": {func(t *testing.T, b *bastion.Bastion) { b.Replace(t) }, remote.ErrOtherKey},
		"another operator": {func(_ *testing.T, b *bastion.Bastion) { b.Forget() }, remote.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, address := bastion.New(t), echo(t)
			tunnel := New(t.Context(), b.Host, b.Private)
			_, err := tunnel.Dial(t.Context(), address)
			must.Do(t, err)
			c.change(t, b)
			b.Cut()
			soon.Wait(t, "it is refused", func() bool {
				_, err = tunnel.Dial(t.Context(), address)
				return tunnel.Refused() != nil
			})
			lost(t, err, "the bastion gate: "+c.final.Error())
			lost(t, tunnel.Refused(), "the bastion gate: "+c.final.Error())
			if !errors.Is(err, c.final) {
				t.Errorf("it hides %v", c.final)
			}
			n := b.Attempts()
			_, err = tunnel.Dial(t.Context(), address)
			lost(t, err, "the bastion gate: "+c.final.Error())
			if b.Attempts() != n {
				t.Error("it tries again")
			}
		})
	}
}

// Who does not let a connection pass is named, without their own words.
func TestUnreached(t *testing.T) {
	t.Parallel()
	b := bastion.New(t)
	tunnel := New(t.Context(), b.Host, b.Private)
	for name, c := range map[string]struct {
		refusal error
		why     string
	}{
		"no machine":  {errors.New("canary"), "it cannot be reached from the bastion gate"},
		"a bastion's": {&ssh.OpenChannelError{Reason: ssh.Prohibited, Message: "canary"}, "the bastion gate does not allow connections to it"},
	} {
		t.Run(name, func(t *testing.T) {
			b.ConnectBy(func(string) (net.Conn, error) { return nil, c.refusal })
			_, err := tunnel.Dial(t.Context(), "192.0.2.1:50000")
			lost(t, err, c.why)
		})
	}
	b.Down(true)
	b.Cut()
	soon.Wait(t, "the bastion is down", func() bool {
		_, err := tunnel.Dial(t.Context(), "192.0.2.1:50000")
		return err.Error() == "the bastion gate cannot be reached"
	})
	if err := tunnel.Refused(); err != nil {
		t.Errorf("it is refused: %v", err)
	}
}

// inMemory runs a test by testing/synctest's clock. Each connection to a machine is one end of a pipe, whose other
// end is passed on.
func inMemory(t *testing.T, f func(*testing.T, *bastion.Bastion, *Tunnel, <-chan net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		machines := make(chan net.Conn, 10)
		b := bastion.NewInMemory(t)
		b.ConnectBy(func(string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			machines <- theirs
			return ours, nil
		})
		f(t, b, &Tunnel{ctx: t.Context(), bastion: "gate", login: b.LogIn}, machines)
	})
}

// is checks the time of testing/synctest, which does not pass while a test works.
func is(t *testing.T, want time.Time) {
	t.Helper()
	if now := time.Now(); !now.Equal(want) {
		t.Errorf("it is %s, not %s", now, want)
	}
}

// A bastion that falls silent counts as broken after a while: what waits for it ends, and it is opened again.
func TestSilent(t *testing.T) {
	inMemory(t, func(t *testing.T, b *bastion.Bastion, tunnel *Tunnel, _ <-chan net.Conn) {
		c, err := tunnel.Dial(t.Context(), "192.0.2.1:50000")
		must.Do(t, err)
		end := time.Now().Add(10*every + limit)
		must.Do(t, wait.For(t.Context(), 10*every-time.Millisecond))
		b.Silence()
		dialled := make(chan error)
		go func() {
			_, err := tunnel.Dial(t.Context(), "192.0.2.1:50000")
			dialled <- err
		}()
		_, err = c.Read(make([]byte, 1))
		lost(t, err, "the connection to the bastion gate broke")
		lost(t, <-dialled, "the connection to the bastion gate broke")
		_, err = tunnel.Dial(t.Context(), "192.0.2.1:50000")
		must.Do(t, err)
		is(t, end)
		if n := b.Logins(); n != 2 {
			t.Errorf("%d logins", n)
		}
	})
}

// A connection that nobody uses for an hour stays open, as the bastion answers.
func TestQuiet(t *testing.T) {
	inMemory(t, func(t *testing.T, b *bastion.Bastion, tunnel *Tunnel, machines <-chan net.Conn) {
		c, err := tunnel.Dial(t.Context(), "192.0.2.1:50000")
		must.Do(t, err)
		machine := <-machines
		go func() { _, _ = io.Copy(machine, machine) }()
		must.Do(t, wait.For(t.Context(), time.Hour))
		must.Do(t, said(c))
		if n := b.Logins(); n != 1 {
			t.Errorf("%d logins", n)
		}
	})
}

// A machine that does not answer is told from a bastion that does not. Both obey the context.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct {
		silent bool
		give   time.Duration
		why    string // empty: the caller did not wait
		after  time.Duration
	}{
		"a machine":            {false, time.Minute, "it does not answer behind the bastion gate", patience},
		"a machine, at once":   {false, time.Second, "", time.Second},
		"the bastion":          {true, time.Minute, "the connection to the bastion gate broke", every + limit},
		"the bastion, at once": {true, time.Second, "", time.Second},
		"when it is asked":     {true, every + time.Second, "", every + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, b *bastion.Bastion, tunnel *Tunnel, _ <-chan net.Conn) {
				_, err := tunnel.Dial(t.Context(), "192.0.2.1:50000")
				must.Do(t, err)
				b.ConnectBy(func(string) (net.Conn, error) { <-t.Context().Done(); return nil, t.Context().Err() })
				if c.silent {
					b.Silence()
				}
				end := time.Now().Add(c.after)
				ctx, cancel := context.WithTimeout(t.Context(), c.give)
				defer cancel()
				_, err = tunnel.Dial(ctx, "192.0.2.1:50000")
				is(t, end)
				if c.why != "" {
					lost(t, err, c.why)
				} else if _, blames := errors.AsType[*Error](err); blames || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// A login that never ends does not hold up those who wait for it, and is the only one.
func TestPatienceAtLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logins atomic.Int32
		tunnel := &Tunnel{ctx: t.Context(), bastion: "gate", login: func(ctx context.Context) (*ssh.Client, error) {
			logins.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		for range 3 {
			end := time.Now().Add(time.Minute)
			ctx, cancel := context.WithDeadline(t.Context(), end)
			_, err := tunnel.Dial(ctx, "192.0.2.1:50000")
			cancel()
			is(t, end)
			lost(t, err, "the bastion gate does not answer")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it hides the deadline: %v", err)
			}
		}
		if n := logins.Load(); n != 1 {
			t.Errorf("%d logins", n)
		}
	})
}

// A connection closes at once, even if the bastion does not answer.
func TestClose(t *testing.T) {
	inMemory(t, func(t *testing.T, b *bastion.Bastion, tunnel *Tunnel, _ <-chan net.Conn) {
		c, err := tunnel.Dial(t.Context(), "192.0.2.1:50000")
		must.Do(t, err)
		b.Silence()
		begin := time.Now()
		read := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			read <- err
		}()
		must.Do(t, c.Close())
		if err := <-read; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("its reader gets %v", err)
		}
		is(t, begin)
	})
}

// A connection of which nobody reads breaks, too: its writer learns of it.
func TestWriter(t *testing.T) {
	inMemory(t, func(t *testing.T, b *bastion.Bastion, tunnel *Tunnel, machines <-chan net.Conn) {
		c, err := tunnel.Dial(t.Context(), "192.0.2.1:50000")
		must.Do(t, err)
		_, err = io.WriteString(<-machines, "unread")
		must.Do(t, err)
		b.Cut()
		synctest.Wait()
		for err == nil {
			_, err = io.WriteString(c, "hello")
		}
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("its writer gets %v", err)
		}
	})
}

// Logins are made one after the other, with pauses that grow while they fail. All who wait get the result of one.
func TestPauses(t *testing.T) {
	inMemory(t, func(t *testing.T, b *bastion.Bastion, tunnel *Tunnel, _ <-chan net.Conn) {
		var at []string
		tunnel.login = func(ctx context.Context) (*ssh.Client, error) {
			at = append(at, time.Now().UTC().Format("5.0"))
			return b.LogIn(ctx)
		}
		dial := func() error {
			_, err := tunnel.Dial(t.Context(), "192.0.2.1:50000")
			return err
		}
		b.Down(true)
		for range 6 {
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() { lost(t, dial(), "the bastion gate cannot be reached") })
			}
			all.Wait()
		}
		b.Down(false)
		must.Do(t, dial())
		b.Cut()
		synctest.Wait()
		must.Do(t, dial())
		if got, want := strings.Join(at, " "), "0.0 0.5 1.5 3.5 7.5 11.5 15.5 16.0"; got != want {
			t.Errorf("logins at %s, want %s", got, want)
		}
		if n := b.Logins(); n != 2 {
			t.Errorf("%d logins", n)
		}
	})
}

// Everything ends with the tunnel's context.
func TestEndsWithContext(t *testing.T) {
	b, address := bastion.New(t), echo(t)
	ctx, cancel := context.WithCancel(t.Context())
	tunnel := New(ctx, b.Host, b.Private)
	c, err := tunnel.Dial(t.Context(), address)
	must.Do(t, err)
	cancel()
	_, err = c.Read(make([]byte, 1))
	lost(t, err, "the connection to the bastion gate broke")
	_, err = tunnel.Dial(t.Context(), address)
	lost(t, err, "the bastion gate cannot be reached")
	if n := b.Attempts(); n != 1 {
		t.Errorf("%d connections to the bastion", n)
	}
}
