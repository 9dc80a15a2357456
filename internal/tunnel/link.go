package tunnel

import (
	"context"
	"time"

	"golang.org/x/crypto/ssh"
)

// A link is one SSH connection to the bastion.
type link struct {
	ctx   context.Context // ends when the connection breaks, or cannot be opened
	broke func()

	asking chan struct{} // full while the bastion is asked whether it is there

	opened chan struct{} // closed when the login is over, and the following are set
	client *ssh.Client
	err    error // why there is no client
}

func newLink(ctx context.Context) *link {
	l := &link{asking: make(chan struct{}, 1), opened: make(chan struct{})}
	l.ctx, l.broke = context.WithCancel(ctx)
	return l
}

// How often the bastion is asked whether it is there, and how long it may take to answer. A caller who gives a
// connection 10 seconds learns in that time that the bastion is gone.
const (
	every = 3 * time.Second
	limit = 5 * time.Second
)

// watch closes the connection when the bastion does not answer any more. It returns when the connection is closed.
func (l *link) watch() {
	go func() {
		_ = l.client.Wait()
		l.broke()
	}()
	defer func() { _ = l.client.Close() }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(l.ctx, limit)
		alive := l.answers(ctx)
		cancel()
		if !alive {
			return
		}
	}
}

// answers reports whether the bastion answers before ctx ends. It is asked by one at a time: when it does not answer,
// watch closes the connection, and all learn of it.
func (l *link) answers(ctx context.Context) bool {
	select {
	case l.asking <- struct{}{}:
	case <-l.ctx.Done():
		return false
	case <-ctx.Done():
		return false
	}
	answered := make(chan error, 1)
	go func() {
		_, _, err := l.client.SendRequest("keepalive@openssh.com", true, nil)
		<-l.asking
		answered <- err
	}()
	select {
	case err := <-answered:
		return err == nil
	case <-ctx.Done():
		return false
	}
}
