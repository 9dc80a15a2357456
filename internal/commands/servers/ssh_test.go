package servers

import (
	"crypto/ed25519"
	"encoding/pem"
	"net"
	"testing"

	"golang.org/x/crypto/ssh"

	"slipway/internal/fault"
	"slipway/internal/must"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/testkit"
)

// The one host is meant, and of several the one that is named.
func TestChosen(t *testing.T) {
	several := []remote.Host{{Name: "db", Address: "192.0.2.1"}, {Name: "web", Address: "192.0.2.2"}}
	for name, c := range map[string]struct {
		count int
		host  string
		want  string
	}{
		"the only one":       {1, "", "db"},
		"by name":            {2, "web", "web"},
		"another than it":    {1, "web", `environment test has no host "web"; its hosts are db`},
		"several":            {2, "", "environment test has several hosts: db, web"},
		"a name that is not": {2, "wbe", `environment test has no host "wbe"; its hosts are db, web`},
		"none":               {0, "", "environment test has no hosts: no layer has an output ansible_inventory"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &run.Run{Options: run.Options{Env: "test"}}
			h, err := choose(r, several[:c.count], c.host)
			got := h.Name
			if refused, ok := fault.Refusal(err); ok {
				got = refused.Error()
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Without the layers there are no hosts.
func TestLogInFails(t *testing.T) {
	testkit.WithoutTofu(t)
	d := testkit.New(t)
	d.WithCode("")
	must.NotStarted(t, logIn(t.Context(), d.Opened(), ""), "init")
}

// A shell needs a host, a key, and a server that answers.
func TestOpenShellFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	closed := listener.Addr().(*net.TCPAddr).Port
	must.Do(t, listener.Close())
	one := []remote.Host{{Name: "web", Address: "127.0.0.1", Port: closed, User: "debian", KnownHosts: "127.0.0.1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}
	_, private, err := ed25519.GenerateKey(nil)
	must.Do(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	must.Do(t, err)

	d := testkit.New(t)
	must.Refuse(t, openShell(t.Context(), d.Run, nil, ""), "environment test has no hosts", "dagger call apply --env=test")
	must.Refuse(t, openShell(t.Context(), d.Run, one, ""), "have no SSH_PRIVATE_KEY", "--variable=SSH_PRIVATE_KEY")
	d.Credentials = map[string]string{secrets.OperatorKey: "canary"}
	must.Refuse(t, openShell(t.Context(), d.Run, one, ""), "is not a private key", "--variable=SSH_PRIVATE_KEY")
	d.Credentials[secrets.OperatorKey] = string(pem.EncodeToMemory(block))
	must.Fail(t, openShell(t.Context(), d.Run, one, ""), "log in to web at 127.0.0.1: ", "connection refused")
}
