// Package remote logs in to the hosts that an environment made, by SSH. A host is
// known by its key beforehand: nothing is trusted on first use.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"

	"slipway/internal/printable"
)

// A Host is what the output ansible_inventory says of one.
type Host struct {
	Name       string   `json:"-"` // of the output's key, or of the layer
	Address    string   `json:"host"`
	User       string   `json:"user"`
	Port       int      `json:"port"`
	KnownHosts string   `json:"known_hosts"` // lines of that file
	Groups     []string `json:"groups"`
	Proxy      string   `json:"-"` // URL of an HTTP proxy that leads to it; empty: none
}

// keys are the host's public keys, out of the lines for its address, and those that
// are revoked, whatever host they were of.
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

// algorithms are those by which a host can prove that it has one of the keys: an RSA
// key signs with SHA-2 today, and its own name means SHA-1.
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

// What answers at a host's address may not be the host.
var (
	ErrOtherKey   = errors.New("it has another host key: it is not the host that was made, or somebody is in between")
	ErrRevokedKey = errors.New("its host key is revoked in known_hosts: whoever has it need not be the host")
)

// Dial logs in to the host with the operator's private key. The connection ends with
// ctx, whatever the host does.
func Dial(ctx context.Context, h Host, private ssh.Signer) (*ssh.Client, error) {
	own, revoked, err := h.keys()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(h.Address, strconv.Itoa(h.Port))
	connection, err := connect(ctx, h.Proxy, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = connection.Close() })
	// What answers may never say a word.
	_ = connection.SetDeadline(time.Now().Add(15 * time.Second))
	c, channels, requests, err := ssh.NewClientConn(connection, address, &ssh.ClientConfig{
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
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	_ = connection.SetDeadline(time.Time{})
	return ssh.NewClient(c, channels, requests), nil
}

// Patience says how long to wait for something.
type Patience struct {
	Attempts int
	Every    time.Duration
}

// What a host is given to come up, and then to finish its first boot.
var (
	ForSSH    = Patience{15, 5 * time.Second}
	ForMarker = Patience{30, 10 * time.Second}
)

// WaitForSSH logs in as soon as the host lets it. It tells progress of each
// attempt that fails. A host key that is not its own ends it at once: waiting mends
// nothing.
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
		last = err
		if n == p.Attempts {
			break
		}
		progress(fmt.Sprintf("%s: no SSH at %s yet (%d of %d)", h.Name, h.Address, n, p.Attempts))
		if err := sleep(ctx, p.Every); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s cannot be reached by SSH at %s, after %d attempts within %s: %w", h.Name, h.Address, p.Attempts, p.Every*time.Duration(p.Attempts), last)
}

// WaitForMarker waits until the host has the file that ends its first boot.
func WaitForMarker(ctx context.Context, h Host, client *ssh.Client, file string, p Patience, progress func(string)) error {
	defer context.AfterFunc(ctx, func() { _ = client.Close() })()
	for n := 1; ; n++ {
		err := run(client, "test -e "+printable.Quoted(file))
		var exit *ssh.ExitError
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.As(err, &exit) {
			return fmt.Errorf("ask %s for %s: %w", h.Name, file, err)
		}
		if n == p.Attempts {
			return fmt.Errorf("%s has not finished its first boot within %s: %s is not there; look at /var/log/cloud-init-output.log on it", h.Name, p.Every*time.Duration(p.Attempts), file)
		}
		progress(fmt.Sprintf("%s: the first boot is not finished yet (%d of %d)", h.Name, n, p.Attempts))
		if err := sleep(ctx, p.Every); err != nil {
			return err
		}
	}
}

func run(client *ssh.Client, command string) error {
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Run(command)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
