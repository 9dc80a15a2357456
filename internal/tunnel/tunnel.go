// Package tunnel reaches addresses behind a bastion, over one SSH connection to it. The connection is watched: when
// it breaks, everything that goes through it breaks at once, and the next use opens it again.
package tunnel

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"slipway/internal/remote"
	"slipway/internal/wait"
)

// A Tunnel opens connections from a bastion. Several goroutines may use it at once.
type Tunnel struct {
	ctx     context.Context // everything ends with it
	bastion string          // its name
	login   func(context.Context) (*ssh.Client, error)

	mu      sync.Mutex
	link    *link         // the latest; nil: there was none
	refused error         // why no other login would succeed
	pause   time.Duration // before the next login
	next    time.Time     // when it may begin
}

// New returns a tunnel that logs in to the bastion with the operator's private key when it is first used. The host
// key has to be known, as for remote.Dial. The tunnel and all its connections end with ctx.
func New(ctx context.Context, bastion remote.Host, private ssh.Signer) *Tunnel {
	return &Tunnel{ctx: ctx, bastion: bastion.Name, login: func(ctx context.Context) (*ssh.Client, error) {
		return remote.Dial(ctx, bastion, private)
	}}
}

// The pause between two logins doubles with each that fails. A dial that waits for one still has time to connect.
const (
	shortest = 500 * time.Millisecond
	longest  = 4 * time.Second
)

// patience is how long a machine behind the bastion may take to accept a connection.
const patience = 5 * time.Second

// Dial opens a TCP connection from the bastion to an address, such as 10.0.0.11:50000. It returns when ctx ends. Its
// error is an Error, or that of ctx. Unlike SSH's own connections, the returned one has deadlines and closes at once.
func (t *Tunnel) Dial(ctx context.Context, address string) (net.Conn, error) {
	l := t.open()
	select {
	case <-l.opened:
	case <-ctx.Done():
		return nil, because(ctx.Err(), "the bastion %s does not answer", t.bastion)
	}
	if l.err != nil {
		return nil, l.err
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)() // a channel that is opened while the connection breaks waits for ever
	channel, err := l.client.DialContext(patient, "tcp", address)
	if err != nil {
		return nil, t.unreached(ctx, l, err)
	}
	return carry(channel, func() error {
		if l.answers(t.ctx) {
			return nil
		}
		return because(nil, "the connection to the bastion %s broke", t.bastion)
	}), nil
}

// Refused returns why the bastion is never logged in to again: it is not the right host, or does not accept the key.
// Before that is known, it returns nil.
func (t *Tunnel) Refused() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

// open returns the latest link, and begins another one if that has broken.
func (t *Tunnel) open() *link {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.link == nil || t.link.ctx.Err() != nil && t.refused == nil {
		t.link = newLink(t.ctx)
		go t.logIn(t.link, time.Until(t.next))
	}
	return t.link
}

func (t *Tunnel) logIn(l *link, pause time.Duration) {
	defer close(l.opened)
	err := wait.For(t.ctx, pause)
	if err == nil {
		l.client, err = t.login(t.ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pause = min(max(2*t.pause, shortest), longest)
	if err == nil {
		t.pause = shortest
		go l.watch()
	} else {
		l.err = because(err, "the bastion %s cannot be reached", t.bastion)
		for _, final := range []error{remote.ErrOtherKey, remote.ErrRevokedKey, remote.ErrRefused} {
			if errors.Is(err, final) {
				l.err = because(err, "the bastion %s: %v", t.bastion, final)
				t.refused = l.err
			}
		}
		l.broke()
	}
	t.next = time.Now().Add(t.pause)
}

// unreached says why a link leads to no connection.
func (t *Tunnel) unreached(ctx context.Context, l *link, err error) error {
	refused, answered := errors.AsType[*ssh.OpenChannelError](err)
	switch {
	case answered && refused.Reason == ssh.Prohibited:
		return because(err, "the bastion %s does not allow connections to it", t.bastion)
	case answered:
		return because(err, "it cannot be reached from the bastion %s", t.bastion)
	case l.answers(ctx):
		return because(err, "it does not answer behind the bastion %s", t.bastion)
	case ctx.Err() != nil: // it is not known yet who does not answer
		return ctx.Err()
	}
	return because(err, "the connection to the bastion %s broke", t.bastion)
}
