// Package bastion is an SSH server for tests. It opens connections as a bastion does, and breaks in all ways that a
// test wants. Only tests import it.
package bastion

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"google.golang.org/grpc/test/bufconn"

	"slipway/internal/inventory"
	"slipway/internal/must"
	"slipway/internal/remote"
	"slipway/internal/tofu"
)

// A Bastion lets in one operator.
type Bastion struct {
	Host    remote.Host // how to log in to it; its name is gate
	Private ssh.Signer  // of the operator
	PEM     string      // the same key

	mu       sync.Mutex
	key      ssh.Signer // of the host
	public   string     // key of the operator
	connect  func(address string) (net.Conn, error)
	exit     func(command string) uint32 // nil: it runs no commands
	down     bool
	attempts int
	logins   int
	lines    []*line
}

// New starts a bastion at an address of the loopback network.
func New(t *testing.T) *Bastion {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	b := NewInMemory(t)
	b.Host.Port = listener.Addr().(*net.TCPAddr).Port
	b.Host.KnownHosts = fmt.Sprintf("[127.0.0.1]:%d %s", b.Host.Port, ssh.MarshalAuthorizedKey(b.key.PublicKey()))
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go b.serve(connection)
		}
	}()
	return b
}

// NewInMemory returns a bastion to which only LogIn leads, for a test whose clock is testing/synctest's.
func NewInMemory(t *testing.T) *Bastion {
	t.Helper()
	b := &Bastion{
		Host: remote.Host{Name: "gate", Address: "127.0.0.1", User: "debian"},
		connect: func(address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(t.Context(), "tcp", address)
		},
	}
	b.Private, b.PEM = newKey(t)
	b.public = string(b.Private.PublicKey().Marshal())
	b.key, _ = newKey(t)
	t.Cleanup(b.Cut)
	return b
}

func newKey(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must.Do(t, err)
	signer, err := ssh.NewSignerFromKey(key)
	must.Do(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	must.Do(t, err)
	return signer, string(pem.EncodeToMemory(block))
}

// Outputs are those of a layer that has created it.
func (b *Bastion) Outputs(t *testing.T) tofu.Outputs {
	t.Helper()
	h := b.Host
	text, err := json.Marshal(map[string]any{h.Name: map[string]any{"host": h.Address, "user": h.User, "port": h.Port, "known_hosts": h.KnownHosts}})
	must.Do(t, err)
	return tofu.Outputs{inventory.HostsOutput: {Value: text}}
}

// LogIn logs in without a network, as the operator.
func (b *Bastion) LogIn(ctx context.Context) (*ssh.Client, error) {
	listener := bufconn.Listen(1 << 20)
	go func() {
		if theirs, err := listener.Accept(); err == nil {
			b.serve(theirs)
		}
	}()
	ours, err := listener.DialContext(ctx)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = ours.Close() })
	c, channels, requests, err := ssh.NewClientConn(ours, "gate", &ssh.ClientConfig{
		User: b.Host.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(b.Private)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), // the tests of host keys use a network
	})
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(c, channels, requests), nil
}

// Attempts counts the connections that were made to it, and Logins those that were let in.
func (b *Bastion) Attempts() int { b.mu.Lock(); defer b.mu.Unlock(); return b.attempts }
func (b *Bastion) Logins() int   { b.mu.Lock(); defer b.mu.Unlock(); return b.logins }

// Down makes it close every connection at once, or ends that.
func (b *Bastion) Down(down bool) { b.mu.Lock(); defer b.mu.Unlock(); b.down = down }

// Replace gives it another host key.
func (b *Bastion) Replace(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.key, _ = newKey(t)
}

// Forget makes it refuse the operator's key.
func (b *Bastion) Forget() { b.mu.Lock(); defer b.mu.Unlock(); b.public = "" }

// ConnectBy makes it open connections for the operator in another way. An *ssh.OpenChannelError is its own refusal.
func (b *Bastion) ConnectBy(connect func(address string) (net.Conn, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connect = connect
}

// Run makes it end each command of the operator with a code, as a host does. Until then it runs none.
func (b *Bastion) Run(exit func(command string) uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exit = exit
}

// Cut closes its connections.
func (b *Bastion) Cut() {
	for _, l := range b.take() {
		_ = l.Close()
	}
}

// Silence makes it say nothing any more on its connections, which stay open. Later ones are as usual.
func (b *Bastion) Silence() {
	for _, l := range b.take() {
		l.silence()
	}
}

func (b *Bastion) take() []*line {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines
	b.lines = nil
	return lines
}

// A line is one of its connections.
type line struct {
	net.Conn
	mu     sync.Mutex
	silent bool
}

func (l *line) silence() { l.mu.Lock(); defer l.mu.Unlock(); l.silent = true }

func (l *line) Write(b []byte) (int, error) {
	l.mu.Lock()
	silent := l.silent
	l.mu.Unlock()
	if silent {
		return len(b), nil
	}
	return l.Conn.Write(b)
}

func (b *Bastion) serve(connection net.Conn) {
	defer connection.Close()
	b.mu.Lock()
	b.attempts++
	down, key, public, l := b.down, b.key, b.public, &line{Conn: connection}
	b.lines = append(b.lines, l)
	b.mu.Unlock()
	if down {
		return
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != b.Host.User || string(key.Marshal()) != public {
			return nil, errors.New("unknown")
		}
		return nil, nil
	}}
	config.AddHostKey(key)
	_, channels, requests, err := ssh.NewServerConn(l, config)
	if err != nil {
		return
	}
	b.mu.Lock()
	b.logins++
	exit := b.exit
	b.mu.Unlock()
	go ssh.DiscardRequests(requests)
	for incoming := range channels {
		if incoming.ChannelType() == "session" && exit != nil {
			go command(incoming, exit)
			continue
		}
		go b.forward(incoming)
	}
}

// command runs a command for the operator.
func command(incoming ssh.NewChannel, exit func(command string) uint32) {
	channel, requests, err := incoming.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	for request := range requests {
		_ = request.Reply(request.Type == "exec", nil)
		var asked struct{ Command string }
		if request.Type == "exec" && ssh.Unmarshal(request.Payload, &asked) == nil {
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{exit(asked.Command)}))
			return
		}
	}
}

// forward opens a connection for the operator.
func (b *Bastion) forward(incoming ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		Origin     string
		OriginPort uint32
	}
	_ = ssh.Unmarshal(incoming.ExtraData(), &to)
	b.mu.Lock()
	connect := b.connect
	b.mu.Unlock()
	there, err := connect(net.JoinHostPort(to.Host, strconv.FormatUint(uint64(to.Port), 10)))
	if err != nil {
		reason := ssh.ConnectionFailed
		if refused, ok := errors.AsType[*ssh.OpenChannelError](err); ok {
			reason = refused.Reason
		}
		_ = incoming.Reject(reason, err.Error())
		return
	}
	defer there.Close()
	channel, requests, err := incoming.Accept()
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	go func() {
		_, _ = io.Copy(there, channel)
		_ = there.Close()
	}()
	_, _ = io.Copy(channel, there)
	_ = channel.Close()
}
