// Package openssh runs OpenSSH's server of Debian. Only tests import it.
package openssh

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"slipway/internal/must"
	"slipway/internal/testkit"
	"slipway/internal/testkit/soon"
)

// In is a command with the programs and the users of a root file system, and with its own mounts. The folder is the one
// that dev/fetch-tools makes: .slipway/ansible.
func In(t *testing.T, root string, args ...string) *exec.Cmd {
	t.Helper()
	root, err := filepath.Abs(root)
	must.Do(t, err)
	const script = `set -eu
mount --bind "$0/etc/passwd" /etc/passwd
mount --bind "$0/etc/group" /etc/group
mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/sshd
mount --bind "$0/usr" /usr
exec "$@"`
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, root}, args...)...)
	// Not Cloneflags, which would leave the mounts shared with the host's.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd
}

// NewKey returns a private key, and the line of its public key.
func NewKey(t *testing.T) (private, public string) {
	t.Helper()
	own, key, err := ed25519.GenerateKey(rand.Reader)
	must.Do(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	must.Do(t, err)
	line, err := ssh.NewPublicKey(own)
	must.Do(t, err)
	return string(pem.EncodeToMemory(block)), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line)))
}

// FreePort is a port of an address that nothing listens on.
func FreePort(t *testing.T, address string) int {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	must.Do(t, err)
	must.Do(t, listener.Close())
	return listener.Addr().(*net.TCPAddr).Port
}

// A Server logs in root.
type Server struct {
	Address string
	Port    int
	Public  string // line of the host key
	Process *os.Process

	cmd *exec.Cmd
	log logged
}

// Config says how a server is started.
type Config struct {
	Root     string // see In
	Network  string // file of the network namespace that it listens in; empty: the test's own
	Address  string
	Port     int
	Operator string // line of the public key that is let in
	Forwards bool   // connections, and runs no commands
}

// Start starts a server, and waits until it listens. What it has logged is shown if the test fails.
func Start(t *testing.T, c Config) *Server {
	t.Helper()
	sessions := 10 // OpenSSH's default
	if c.Forwards {
		sessions = 0
	}
	private, public := NewKey(t)
	s := &Server{Address: c.Address, Port: c.Port, Public: public}
	folder := t.TempDir()
	for name, text := range map[string]string{
		"key": private, "authorized_keys": c.Operator + "\n",
		"sshd_config": fmt.Sprintf(`ListenAddress %s:%d
HostKey %s/key
AuthorizedKeysFile %[3]s/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
SetEnv HOME=%[3]s
MaxSessions %[4]d
`, c.Address, c.Port, folder, sessions),
	} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	s.cmd = In(t, c.Root, "/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(folder, "sshd_config"))
	if c.Network != "" { // before the mounts, which hide the file
		enter, err := exec.LookPath("nsenter")
		must.Do(t, err)
		s.cmd.Path, s.cmd.Args = enter, append([]string{enter, "--net=" + c.Network}, s.cmd.Args...)
	}
	s.cmd.Stderr = &s.log
	t.Cleanup(func() { // when it has ended
		if t.Failed() {
			t.Logf("sshd at port %d:\n%s", s.Port, s.Log())
		}
	})
	testkit.Start(t, s.cmd)
	s.Process = s.cmd.Process
	soon.Wait(t, "sshd listens", func() bool { return strings.Contains(s.Log(), "Server listening on ") })
	return s
}

// Log is all that it has logged.
func (s *Server) Log() string {
	s.log.Lock()
	defer s.log.Unlock()
	return s.log.text.String()
}

// KnownHosts is a line of known_hosts, with the server's own key or with another.
func (s *Server) KnownHosts(public string) string {
	return fmt.Sprintf("[%s]:%d %s", s.Address, s.Port, public)
}

// Off ends the server.
func (s *Server) Off() {
	_ = s.Process.Kill()
	_ = s.cmd.Wait()
}

type logged struct {
	sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.text.Write(p)
}
