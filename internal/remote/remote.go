// Package remote logs in to the hosts that an environment created, by SSH. A host's key must be
// known beforehand: there is no trust on first use.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"slipway/internal/printable"
	"slipway/internal/wait"
)

// A Host is a host that an environment created.
type Host struct {
	Name       string // in the inventory
	Address    string
	User       string
	Port       int
	KnownHosts string // lines of a known_hosts file
	Groups     []string
	Variables  map[string]any // for Ansible
	Proxy      string         // URL of an HTTP proxy to reach the host; empty: none
	Jump       *Host          // the bastion through which the host is reached; nil: none
	BootMarker string         // file that ends the first boot; empty: the end of cloud-init does, on a host that has it
}

// keys returns the host's public keys, from the lines for its address, and all revoked keys,
// whichever host they are for.
func (h Host) keys() (own, revoked []ssh.PublicKey, err error) {
	rest := []byte(h.KnownHosts)
	for len(rest) > 0 {
		marker, hosts, key, _, next, err := ssh.ParseKnownHosts(rest)
		if err != nil {
			break
		}
		rest = next
		switch {
		case marker == "revoked":
			revoked = append(revoked, key)
		case marker == "" && (slices.Contains(hosts, h.Address) || slices.Contains(hosts, fmt.Sprintf("[%s]:%d", h.Address, h.Port))):
			own = append(own, key)
		}
	}
	if len(own) == 0 {
		return nil, nil, fmt.Errorf("known_hosts of %s has no line for %s", h.Name, h.Address)
	}
	return own, revoked, nil
}

// algorithms lists the algorithms with which a host can prove that it has one of the keys: an RSA
// key signs with SHA-2 today, but its own name means SHA-1.
func algorithms(keys []ssh.PublicKey) []string {
	var names []string
	for _, key := range keys {
		if key.Type() == ssh.KeyAlgoRSA {
			names = append(names, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
			continue
		}
		names = append(names, key.Type())
	}
	return names
}

func among(keys []ssh.PublicKey, key ssh.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) })
}

// Whatever responds at a host's address may not be the host.
var (
	ErrOtherKey = errors.New("the host key does not match: it is not the host that was created, or the connection is intercepted")
	// ErrRefused comes from a host that is the right one.
	ErrRefused    = errors.New("the host does not accept the SSH key in the credentials")
	ErrRevokedKey = errors.New("the host key is revoked in known_hosts: somebody else may have it")
)

// Dial logs in to the host with the operator's private key. The connection ends with ctx, even if
// the host does not respond.
func Dial(ctx context.Context, h Host, private ssh.Signer) (*ssh.Client, error) {
	own, revoked, err := h.keys()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(h.Address, strconv.Itoa(h.Port))
	connection, err := h.connect(ctx, private)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = connection.Close() })
	client, err := login(connection, address, &ssh.ClientConfig{
		User:              h.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(private)},
		HostKeyAlgorithms: algorithms(own),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			switch {
			case among(revoked, key):
				return ErrRevokedKey
			case !among(own, key):
				return ErrOtherKey
			}
			return nil
		},
	})
	if err != nil {
		_ = connection.Close()
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case strings.Contains(err.Error(), "unable to authenticate"): // the library has no error for it
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return nil, err
	}
	return client, nil
}

// patience is how long a host may take to let us log in.
const patience = 15 * time.Second

// login logs in on a connection. A server that never sends anything ends the patience: the connection
// is closed then, because one from a bastion knows no deadline.
func login(connection net.Conn, address string, config *ssh.ClientConfig) (*ssh.Client, error) {
	silent := time.AfterFunc(patience, func() { _ = connection.Close() })
	c, channels, requests, err := ssh.NewClientConn(connection, address, config)
	if !silent.Stop() {
		return nil, errors.Join(fmt.Errorf("no login at %s within %s", address, patience), err)
	}
	if err != nil {
		return nil, err
	}
	return ssh.NewClient(c, channels, requests), nil
}

// connect opens a connection to the host's SSH port: directly, through its proxy, or from its bastion.
func (h Host) connect(ctx context.Context, private ssh.Signer) (net.Conn, error) {
	address := net.JoinHostPort(h.Address, strconv.Itoa(h.Port))
	if h.Jump == nil {
		return Connect(ctx, h.Proxy, address)
	}
	bastion, err := Dial(ctx, *h.Jump, private)
	if err != nil {
		return nil, fmt.Errorf("log in to the bastion %s: %w", h.Jump.Name, err)
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connection, err := bastion.DialContext(patient, "tcp", address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect from the bastion %s: %w", h.Jump.Name, err), bastion.Close())
	}
	return &jumped{connection, bastion}, nil
}

// jumped closes the bastion's connection with its own.
type jumped struct {
	net.Conn
	bastion *ssh.Client
}

func (j *jumped) Close() error { return errors.Join(j.Conn.Close(), j.bastion.Close()) }

// Patience says how long to wait for something.
type Patience struct {
	Attempts int
	Every    time.Duration
	// Booted means that the host has been up before, so that it already knows the operator's key. A
	// server of OpenSSH locks out whoever tries a wrong key again and again.
	Booted bool
}

// How long a host may take to come up, and then to finish its first boot.
var (
	ForSSH     = Patience{Attempts: 15, Every: 5 * time.Second}
	ForBoot    = Patience{Attempts: 30, Every: 10 * time.Second}
	ForRestart = Patience{Attempts: 20, Every: time.Second, Booted: true}
)

// WaitForSSH logs in as soon as the host allows it. It reports each failed attempt to progress. It
// fails immediately if the host key is wrong, because waiting would not help.
func WaitForSSH(ctx context.Context, h Host, private ssh.Signer, p Patience, progress func(string)) (*ssh.Client, error) {
	if _, _, err := h.keys(); err != nil {
		return nil, err
	}
	var last error
	for n := 1; n <= p.Attempts; n++ {
		client, err := Dial(ctx, h, private)
		if err == nil {
			return client, nil
		}
		for _, final := range []error{ErrOtherKey, ErrRevokedKey} {
			if errors.Is(err, final) {
				return nil, fmt.Errorf("%s at %s: %w", h.Name, h.Address, final)
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p.Booted && errors.Is(err, ErrRefused) {
			return nil, ErrRefused
		}
		last = err
		if n == p.Attempts {
			break
		}
		progress(fmt.Sprintf("%s: no SSH at %s yet (%d of %d)", h.Name, h.Address, n, p.Attempts))
		if err := wait.For(ctx, p.Every); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s cannot be reached by SSH at %s, after %d attempts within %s: %w", h.Name, h.Address, p.Attempts, p.Every*time.Duration(p.Attempts), last)
}

// stillBooting is the exit code of booted before the first boot is over: EX_TEMPFAIL, with which no shell ends by itself.
const stillBooting = 75

// WaitForBoot waits until the host has finished its first boot. A host that lets nobody run commands, as a bastion may,
// cannot be asked: progress says so, and it has, unless it has a marker.
func WaitForBoot(ctx context.Context, h Host, client *ssh.Client, p Patience, progress func(string)) error {
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	for n := 1; ; n++ {
		err := run(client, h.booted())
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !exited(err, stillBooting) {
			if !runsNoCommands(err) {
				return fmt.Errorf("check the first boot of %s: %w", h.Name, err)
			}
			if h.BootMarker != "" {
				return fmt.Errorf("%s lets %s run no commands, so its boot_marker %s cannot be looked for: %w", h.Name, h.User, h.BootMarker, err)
			}
			progress(fmt.Sprintf("%s: lets %s run no commands, so its first boot is not checked", h.Name, h.User))
			return nil
		}
		if n == p.Attempts {
			why := "cloud-init is still running"
			if h.BootMarker != "" {
				why = "there is no " + h.BootMarker
			}
			return fmt.Errorf("%s has not finished its first boot within %s: %s; see /var/log/cloud-init-output.log on the host", h.Name, p.Every*time.Duration(p.Attempts), why)
		}
		progress(fmt.Sprintf("%s: the first boot is not finished yet (%d of %d)", h.Name, n, p.Attempts))
		if err := wait.For(ctx, p.Every); err != nil {
			return err
		}
	}
}

func exited(err error, code int) bool {
	var exit *ssh.ExitError
	return errors.As(err, &exit) && exit.ExitStatus() == code
}

// runsNoCommands reports whether the host opens no session (MaxSessions 0), or runs another program than ours in it
// (ForceCommand, nologin).
func runsNoCommands(err error) bool {
	var exit *ssh.ExitError
	var closed *ssh.OpenChannelError
	return errors.As(err, &exit) || errors.As(err, &closed)
}

// booted is a command that exits with stillBooting on a host that has not finished its first boot. A host on which cloud-init
// has failed, is switched off, or is not installed, has.
func (h Host) booted() string {
	// cloud-init up to 22.4 says "not run".
	booting := `command -v cloud-init >/dev/null && cloud-init status 2>/dev/null | grep -Eq "^status: (running|not started|not run)"`
	if h.BootMarker != "" {
		booting = "! test -e " + printable.Quoted(h.BootMarker)
	}
	// The user's shell need not be a POSIX one.
	return "sh -c " + printable.Quoted(fmt.Sprintf("if %s; then exit %d; fi", booting, stillBooting))
}

func run(client *ssh.Client, command string) error {
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Run(command)
}
