// Package remote logs in to the hosts that an environment made, by SSH. A host is
// known by its key beforehand: nothing is trusted on first use.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
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

// key is the host's public key, out of the line for its address.
func (h Host) key() (ssh.PublicKey, error) {
	rest := []byte(h.KnownHosts)
	for len(rest) > 0 {
		_, hosts, key, _, next, err := ssh.ParseKnownHosts(rest)
		if err != nil {
			break
		}
		for _, name := range hosts {
			if name == h.Address || name == fmt.Sprintf("[%s]:%d", h.Address, h.Port) {
				return key, nil
			}
		}
		rest = next
	}
	return nil, fmt.Errorf("known_hosts of %s has no line for %s", h.Name, h.Address)
}

// ErrOtherKey says that what answers at a host's address is not the host.
var ErrOtherKey = errors.New("it has another host key: it is not the host that was made, or somebody is in between")

// Dial logs in to the host with the operator's private key.
func Dial(ctx context.Context, h Host, private ssh.Signer) (*ssh.Client, error) {
	want, err := h.key()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(h.Address, strconv.Itoa(h.Port))
	connection, err := connect(ctx, h.Proxy, address)
	if err != nil {
		return nil, err
	}
	// What answers may never say a word.
	_ = connection.SetDeadline(time.Now().Add(15 * time.Second))
	c, channels, requests, err := ssh.NewClientConn(connection, address, &ssh.ClientConfig{
		User:              h.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(private)},
		HostKeyAlgorithms: []string{want.Type()},
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if !bytes.Equal(key.Marshal(), want.Marshal()) {
				return ErrOtherKey
			}
			return nil
		},
	})
	if err != nil {
		_ = connection.Close()
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
// attempt that fails. Another host key ends it at once: waiting mends nothing.
func WaitForSSH(ctx context.Context, h Host, private ssh.Signer, p Patience, progress func(string)) (*ssh.Client, error) {
	if _, err := h.key(); err != nil {
		return nil, err
	}
	var last error
	for n := 1; n <= p.Attempts; n++ {
		client, err := Dial(ctx, h, private)
		if err == nil {
			return client, nil
		}
		if errors.Is(err, ErrOtherKey) {
			return nil, fmt.Errorf("%s at %s: %w", h.Name, h.Address, ErrOtherKey)
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
	for n := 1; ; n++ {
		err := run(client, "test -e "+quote(file))
		var exit *ssh.ExitError
		if err == nil {
			return nil
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

// quote writes text as one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
