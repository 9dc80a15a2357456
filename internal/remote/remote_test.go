package remote

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"slipway/internal/must"
)

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// A server speaks SSH on this machine. Each command it is given takes the next of
// its exit codes, the last one again and again.
type server struct {
	Host
	commands chan string
	codes    atomic.Pointer[[]uint32]
	hang     atomic.Bool // commands are not answered
	forwards atomic.Bool // nothing else is allowed
}

// serve lets the operator in whose key it is.
func serve(t *testing.T, hostKey ssh.Signer, operator ssh.PublicKey, codes ...uint32) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	port := listener.Addr().(*net.TCPAddr).Port
	s := &server{
		Host: Host{
			Name: "test-backend", Address: "127.0.0.1", User: "debian", Port: port,
			KnownHosts: fmt.Sprintf("192.0.2.1,[127.0.0.1]:%d %s", port, ssh.MarshalAuthorizedKey(hostKey.PublicKey())),
		},
		commands: make(chan string, 100),
	}
	s.codes.Store(&codes)
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != "debian" || string(key.Marshal()) != string(operator.Marshal()) {
			return nil, errors.New("unknown")
		}
		return nil, nil
	}}
	config.AddHostKey(hostKey)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go s.talk(connection, config)
		}
	}()
	return s
}

func (s *server) talk(connection net.Conn, config *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for incoming := range channels {
		if incoming.ChannelType() == "direct-tcpip" {
			go forward(incoming)
			continue
		}
		if s.forwards.Load() {
			_ = incoming.Reject(ssh.Prohibited, "open failed")
			continue
		}
		channel, requests, err := incoming.Accept()
		if err != nil {
			return
		}
		for request := range requests {
			_ = request.Reply(request.Type == "exec", nil)
			if request.Type != "exec" || s.hang.Load() {
				continue
			}
			s.commands <- string(request.Payload[4:])
			codes := *s.codes.Load()
			code := codes[0]
			if len(codes) > 1 {
				rest := codes[1:]
				s.codes.Store(&rest)
			}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
			_ = channel.Close()
		}
	}
}

// forward connects a channel as a bastion does.
func forward(incoming ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		Origin     string
		OriginPort uint32
	}
	_ = ssh.Unmarshal(incoming.ExtraData(), &to)
	there, err := net.Dial("tcp", net.JoinHostPort(to.Host, strconv.FormatUint(uint64(to.Port), 10)))
	if err != nil {
		_ = incoming.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer there.Close()
	channel, requests, err := incoming.Accept()
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	go func() { _, _ = io.Copy(there, channel) }()
	_, _ = io.Copy(channel, there)
	_ = channel.Close()
}

// A host behind a bastion is reached, with its own key; and who refuses is named.
func TestBastion(t *testing.T) {
	operator := newKey(t)
	gate, inner := serve(t, newKey(t), operator.PublicKey(), 0), serve(t, newKey(t), operator.PublicKey(), 0)
	gate.Name = "gate"
	inner.Jump = &gate.Host
	client, err := Dial(t.Context(), inner.Host, operator)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(client, "true"); err != nil {
		t.Error(err)
	}
	_ = client.Close()
	other := inner.Host
	other.KnownHosts = gate.KnownHosts + "\n" + strings.Replace(gate.KnownHosts, strconv.Itoa(gate.Port), strconv.Itoa(inner.Port), 1)
	if _, err := Dial(t.Context(), other, operator); !errors.Is(err, ErrOtherKey) {
		t.Errorf("with the bastion's key as the host's: %v", err)
	}
	far := inner.Host
	far.Port, far.KnownHosts = 1, "127.0.0.1 "+inner.KnownHosts[strings.Index(inner.KnownHosts, " "):]
	if _, err := Dial(t.Context(), far, operator); err == nil || !strings.HasPrefix(err.Error(), "connect from the bastion gate: ") {
		t.Errorf("a host that is not there: %v", err)
	}
	if _, err := Dial(t.Context(), inner.Host, newKey(t)); !errors.Is(err, ErrRefused) || !strings.HasPrefix(err.Error(), "log in to the bastion gate: ") {
		t.Errorf("a stranger: %v", err)
	}
}

// A host that has been up before knows the key, so a refusal is final. One that boots is waited for.
func TestWaitForRestart(t *testing.T) {
	operator := newKey(t)
	s := serve(t, newKey(t), operator.PublicKey(), 0)
	booted := Patience{Attempts: 3, Every: time.Millisecond, Booted: true}
	said := 0
	progress := func(string) { said++ }
	if _, err := WaitForSSH(t.Context(), s.Host, newKey(t), booted, progress); !errors.Is(err, ErrRefused) || said != 0 {
		t.Errorf("a stranger: %v, after %d attempts", err, said)
	}
	s.KnownHosts, s.Port = "127.0.0.1 "+s.KnownHosts[strings.Index(s.KnownHosts, " "):], 1
	if _, err := WaitForSSH(t.Context(), s.Host, operator, booted, progress); err == nil || errors.Is(err, ErrRefused) || said != 2 {
		t.Errorf("a host that is down: %v, after %d attempts", err, said)
	}
}

// Only a key that known_hosts has for this host proves who it is, and the host is asked for that one.
func TestKeysOfOthers(t *testing.T) {
	operator, hostKey, other := newKey(t), newKey(t), newKey(t)
	s := serve(t, hostKey, operator.PublicKey(), 0)
	s.KnownHosts = "127.0.0.1 " + string(ssh.MarshalAuthorizedKey(other.PublicKey())) + "192.0.2.9 " + string(ssh.MarshalAuthorizedKey(hostKey.PublicKey()))
	if _, err := Dial(t.Context(), s.Host, operator); !errors.Is(err, ErrOtherKey) {
		t.Errorf("with the key of another host: %v", err)
	}
	if got := algorithms([]ssh.PublicKey{hostKey.PublicKey()}); len(got) != 1 || got[0] != ssh.KeyAlgoED25519 {
		t.Errorf("it is asked for %q", got)
	}
}

var quick = Patience{Attempts: 5, Every: time.Millisecond}

// Wait for a host, and then for the end of its first boot.
func TestWait(t *testing.T) {
	operator := newKey(t)
	s := serve(t, newKey(t), operator.PublicKey(), stillBooting, stillBooting, 0)
	var said []string
	progress := func(text string) { said = append(said, text) }
	client, err := WaitForSSH(t.Context(), s.Host, operator, quick, progress)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s.BootMarker = "/marker"
	if err := WaitForBoot(t.Context(), s.Host, client, quick, progress); err != nil {
		t.Fatal(err)
	}
	if len(said) != 2 || !strings.Contains(said[1], "test-backend: the first boot is not finished yet (2 of 5)") {
		t.Errorf("it said %q", said)
	}
	if got, want := <-s.commands, s.booted(); got != want {
		t.Errorf("it ran %s, want %s", got, want)
	}
}

// A bastion may forward connections and run nothing: it opens no session (MaxSessions 0), or runs another program (ForceCommand,
// nologin). It has booted, unless somebody says how to tell.
func TestNoCommands(t *testing.T) {
	operator := newKey(t)
	for name, change := range map[string]func(*server){
		"nologin":         func(*server) {},
		"MaxSessions 0":   func(s *server) { s.forwards.Store(true) },
		"another program": func(s *server) { s.codes.Store(&[]uint32{255}) },
	} {
		s := serve(t, newKey(t), operator.PublicKey(), 1)
		change(s)
		client, err := Dial(t.Context(), s.Host, operator)
		must.Do(t, err)
		var said []string
		must.Do(t, WaitForBoot(t.Context(), s.Host, client, quick, func(text string) { said = append(said, text) }))
		if want := []string{"test-backend: lets debian run no commands, so its first boot is not checked"}; !slices.Equal(said, want) {
			t.Errorf("%s: it said %q", name, said)
		}
		s.BootMarker = "/marker"
		must.Fail(t, WaitForBoot(t.Context(), s.Host, client, quick, func(string) {}), "test-backend lets debian run no commands, so its boot_marker /marker cannot be looked for: ")
		must.Do(t, client.Close())
	}
}

// Each wait ends, and says why.
func TestWaitEnds(t *testing.T) {
	operator, hostKey := newKey(t), newKey(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := silent.Addr().(*net.TCPAddr).Port
	_ = silent.Close()
	for name, c := range map[string]struct {
		change   func(*Host)
		key      ssh.Signer
		want     string
		attempts int32 // the last one reports no progress
	}{
		"nobody listens": {func(h *Host) {
			h.Port = closed
			h.KnownHosts = "127.0.0.1 " + h.KnownHosts[strings.Index(h.KnownHosts, " "):]
		}, operator, "cannot be reached by SSH at 127.0.0.1, after 5 attempts", 4},
		"another host key": {func(h *Host) { h.KnownHosts = "127.0.0.1 " + string(ssh.MarshalAuthorizedKey(newKey(t).PublicKey())) }, operator, "the host key does not match", 0},
		"a revoked key": {func(h *Host) {
			h.KnownHosts += "@revoked * " + string(ssh.MarshalAuthorizedKey(hostKey.PublicKey()))
		}, operator, "the host key is revoked", 0},
		"only a revoked key":  {func(h *Host) { h.KnownHosts = "@revoked " + h.KnownHosts }, operator, "has no line for 127.0.0.1", 0},
		"another's authority": {func(h *Host) { h.KnownHosts = "@cert-authority " + h.KnownHosts }, operator, "has no line for 127.0.0.1", 0},
		"no host key":         {func(h *Host) { h.KnownHosts = "" }, operator, "known_hosts of test-backend has no line for 127.0.0.1", 0},
		"a stranger's key":    {func(*Host) {}, newKey(t), "unable to authenticate", 4},
		"another user's key":  {func(h *Host) { h.User = "root" }, operator, "unable to authenticate", 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, hostKey, operator.PublicKey(), 0)
			c.change(&s.Host)
			var said atomic.Int32
			client, err := WaitForSSH(t.Context(), s.Host, c.key, quick, func(string) { said.Add(1) })
			if err == nil {
				_ = client.Close()
				t.Fatal("it lets us in")
			}
			if !strings.Contains(err.Error(), c.want) || said.Load() != c.attempts {
				t.Errorf("got %v, %d times", err, said.Load())
			}
		})
	}
	s := serve(t, hostKey, operator.PublicKey(), stillBooting)
	client, err := WaitForSSH(t.Context(), s.Host, operator, quick, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for marker, why := range map[string]string{"": "cloud-init is still running", "/marker": "there is no /marker"} {
		client, err := WaitForSSH(t.Context(), s.Host, operator, quick, func(string) {})
		must.Do(t, err)
		s.BootMarker = marker
		must.Fail(t, WaitForBoot(t.Context(), s.Host, client, quick, func(string) {}), "has not finished its first boot within 5ms: "+why)
		must.Do(t, client.Close())
	}
}

// The first boot ends when the marker is there. Without one it ends when cloud-init does, however it ends. The texts are those of
// cloud-init's cmd/status.py.
func TestBooted(t *testing.T) {
	code := func(h Host, path string) int {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", h.booted())
		cmd.Env = []string{"PATH=" + path}
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	for status, want := range map[string]int{
		"status: running": stillBooting, "status: not started": stillBooting, "status: not run": stillBooting,
		"status: done": 0, "status: error": 0, "status: disabled": 0, "status: degraded done": 0, "": 0,
	} {
		folder := t.TempDir()
		if status != "" {
			must.Do(t, os.WriteFile(filepath.Join(folder, "cloud-init"), []byte("#!/bin/sh\necho '"+status+"'\nexit 2\n"), 0o755)) //nolint:gosec // it is run
		}
		if got := code(Host{}, folder+":/usr/bin:/bin"); got != want {
			t.Errorf("%q: %d", status, got)
		}
	}
	marked := Host{BootMarker: filepath.Join(t.TempDir(), "it's there")}
	if got := code(marked, "/usr/bin:/bin"); got != stillBooting {
		t.Errorf("without the marker: %d", got)
	}
	must.Do(t, os.WriteFile(marked.BootMarker, nil, 0o600))
	if got := code(marked, "/usr/bin:/bin"); got != 0 {
		t.Errorf("with the marker: %d", got)
	}
}

// A host is reached by way of a proxy, and one that leads nowhere says so.
func TestProxy(t *testing.T) {
	operator := newKey(t)
	s := serve(t, newKey(t), operator.PublicKey(), 0)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != net.JoinHostPort(s.Address, strconv.Itoa(s.Port)) {
			http.Error(w, "no such host", http.StatusBadGateway)
			return
		}
		there, err := net.Dial("tcp", r.Host)
		if err != nil {
			t.Error(err)
			return
		}
		defer there.Close()
		here, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		// The host's first words come together with the proxy's.
		first := make([]byte, 10)
		_, _ = io.ReadFull(there, first)
		_, _ = here.Write(append([]byte("HTTP/1.1 200 OK\r\n\r\n"), first...))
		go func() { _, _ = io.Copy(there, here) }()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(proxy.Close)
	s.Proxy = proxy.URL
	client, err := Dial(t.Context(), s.Host, operator)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := WaitForBoot(t.Context(), s.Host, client, quick, func(string) {}); err != nil {
		t.Error(err)
	}
	other := s.Host
	other.Port++
	other.KnownHosts = "127.0.0.1 " + other.KnownHosts[strings.Index(other.KnownHosts, " "):]
	if _, err := Dial(t.Context(), other, operator); err == nil || !strings.Contains(err.Error(), "cannot connect to 127.0.0.1:") || !strings.Contains(err.Error(), "502") {
		t.Errorf("got %v", err)
	}
}

// A host with an RSA key proves it with SHA-2: the old way is not offered.
func TestRSA(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	hostKey, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	operator := newKey(t)
	s := serve(t, hostKey, operator.PublicKey(), 0)
	client, err := Dial(t.Context(), s.Host, operator)
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	old, err := ssh.NewSignerWithAlgorithms(hostKey.(ssh.AlgorithmSigner), []string{ssh.KeyAlgoRSA})
	if err != nil {
		t.Fatal(err)
	}
	if client, err := Dial(t.Context(), serve(t, old, operator.PublicKey(), 0).Host, operator); err == nil {
		_ = client.Close()
		t.Error("SHA-1 will do")
	}
}

// What never answers does not outlive the context: a host that accepts and is silent, a
// proxy that is, and a host that falls silent after the login.
func TestEndsWithContext(t *testing.T) {
	operator, hostKey := newKey(t), newKey(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	s := serve(t, hostKey, operator.PublicKey(), 0)
	host := s.Host
	host.Port = silent.Addr().(*net.TCPAddr).Port
	host.KnownHosts = "127.0.0.1 " + string(ssh.MarshalAuthorizedKey(hostKey.PublicKey()))
	proxied := s.Host
	proxied.Proxy = "http://" + silent.Addr().String()
	for name, f := range map[string]func(context.Context) error{
		"a host":  func(ctx context.Context) error { _, err := Dial(ctx, host, operator); return err },
		"a proxy": func(ctx context.Context) error { _, err := Dial(ctx, proxied, operator); return err },
		"a wait": func(ctx context.Context) error {
			_, err := WaitForSSH(ctx, host, operator, Patience{Attempts: 1000, Every: time.Minute}, func(string) {})
			return err
		},
		"a command": func(ctx context.Context) error {
			client, err := Dial(t.Context(), s.Host, operator)
			if err != nil {
				t.Fatal(err)
			}
			s.hang.Store(true)
			defer s.hang.Store(false)
			return WaitForBoot(ctx, s.Host, client, quick, func(string) {})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			err := f(ctx)
			if err == nil {
				t.Error("it ends without an error")
			}
			if name == "a host" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it does not say why it ends: %v", err)
			}
		})
	}
	// So does a connection that was opened.
	ctx, cancel := context.WithCancel(t.Context())
	client, err := Dial(ctx, s.Host, operator)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = client.Wait() // does not return while the connection is open
}

// A connection from a bastion knows no deadline, like that of SSH's channels.
type endless struct{ net.Conn }

func (endless) SetDeadline(time.Time) error { return errors.New("deadline not supported") }

// A server that never sends anything ends the login, on a connection without deadlines, too.
func TestSilentLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		end := time.Now().Add(patience)
		_, err := login(endless{ours}, "192.0.2.1:22", &ssh.ClientConfig{HostKeyCallback: ssh.FixedHostKey(newKey(t).PublicKey())})
		if err == nil || !strings.Contains(err.Error(), "no login at 192.0.2.1:22 within 15s") {
			t.Errorf("got %v", err)
		}
		if now := time.Now(); !now.Equal(end) {
			t.Errorf("it ends at %s, not %s", now, end)
		}
	})
}
