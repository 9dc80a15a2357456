// Package hosts finds the hosts that an apply created, and waits until they are up.
package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"slipway/internal/environment"
	"slipway/internal/fault"
	"slipway/internal/inventory"
	"slipway/internal/layer"
	"slipway/internal/printable"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/tofu"
)

// Of returns the hosts in a layer's outputs.
func Of(l *layer.Layer, outputs tofu.Outputs) ([]remote.Host, error) {
	hosts, err := inventory.Hosts(l.Name, outputs)
	if err != nil {
		return nil, fault.Refuse("$EDITOR "+printable.Word(l.Environment.Dir(l.Config)), "%w", err)
	}
	return hosts, nil
}

// Route sets how the hosts are reached, as environment.yaml says: by a proxy, by a bastion, or
// directly.
func Route(e *environment.Environment, hosts []remote.Host) error {
	if e.SSH == nil {
		return nil
	}
	for i := range hosts {
		hosts[i].Proxy = e.SSH.Proxy
	}
	if e.SSH.Jump == "" || len(hosts) == 0 {
		return nil
	}
	at := slices.IndexFunc(hosts, func(h remote.Host) bool { return h.Name == e.SSH.Jump })
	if at < 0 {
		var names []string
		for _, h := range hosts {
			names = append(names, h.Name)
		}
		return fault.Refuse("$EDITOR environments/"+e.Name+"/environment.yaml", "ssh.jump is %q, and the hosts of %s are %s", e.SSH.Jump, e.Name, strings.Join(names, ", "))
	}
	bastion := hosts[at]
	for i := range hosts {
		if i != at {
			hosts[i].Proxy, hosts[i].Jump = "", &bastion
		}
	}
	return nil
}

// Bastion returns the host through which environment.yaml reaches the others. The hosts are those of all layers.
func Bastion(e *environment.Environment, hosts []remote.Host) (remote.Host, error) {
	if len(hosts) == 0 {
		return remote.Host{}, fault.Refuse("dagger call apply --env="+e.Name, "ssh.jump is %q, and environment %s has no hosts: no layer has an output %s", e.SSH.Jump, e.Name, inventory.HostsOutput)
	}
	hosts = slices.Clone(hosts)
	if err := Route(e, hosts); err != nil {
		return remote.Host{}, err
	}
	return hosts[slices.IndexFunc(hosts, func(h remote.Host) bool { return h.Name == e.SSH.Jump })], nil
}

// NeedPrivateKey returns the operator's key, and refuses credentials that have none.
func NeedPrivateKey(r *run.Run) (ssh.Signer, error) {
	key, err := PrivateKey(r)
	if err == nil && key == nil {
		err = fault.Refuse(r.SetCommand(secrets.OperatorKey), "the credentials of %s have no %s, the SSH key for its hosts", r.Env, secrets.OperatorKey)
	}
	return key, err
}

// PrivateKey returns the operator's key; nil if the credentials have none.
func PrivateKey(r *run.Run) (ssh.Signer, error) {
	text := r.Credentials[secrets.OperatorKey]
	if text == "" {
		return nil, nil
	}
	key, err := ssh.ParsePrivateKey([]byte(text))
	if err != nil {
		// The library's error may quote the key.
		return nil, fault.Refuse(r.SetCommand(secrets.OperatorKey), "%s in the credentials of %s is not a private key, or it has a passphrase", secrets.OperatorKey, r.Env)
	}
	return key, nil
}

// Await waits until it can log in to the hosts and they have finished their first boot.
func Await(ctx context.Context, r *run.Run, hosts []remote.Host) error {
	if len(hosts) == 0 {
		return nil
	}
	key, err := PrivateKey(r)
	if err != nil {
		return err
	}
	if key == nil {
		r.Say("note: not waiting for the hosts, because the credentials of %s have no %s", r.Env, secrets.OperatorKey)
		return nil
	}
	if err := Route(r.Environment, hosts); err != nil {
		return err
	}
	progress := func(text string) { r.Say("%s", printable.Terminal(text)) }
	for _, h := range hosts {
		err := r.Timed("wait for "+h.Name, func() error {
			client, err := remote.WaitForSSH(ctx, h, key, remote.ForSSH, progress)
			if err != nil {
				return err
			}
			defer client.Close()
			return remote.WaitForBoot(ctx, h, client, remote.ForBoot, progress)
		})
		if err != nil {
			return err
		}
		r.Report.Add(func(mask func(string) string) string {
			return fmt.Sprintf("%s is up at %s\n", printable.Terminal(h.Name), mask(printable.Terminal(h.Address)))
		})
	}
	return nil
}

// Reach gives hosts that have just been started the time to accept a login, all of them at once. It
// returns why a host will not accept one; a host that is only silent is left to the caller.
func Reach(ctx context.Context, r *run.Run, hosts []remote.Host, key ssh.Signer) map[string]error {
	unreached := map[string]error{}
	_ = r.Timed("reach the hosts", func() error {
		var all sync.WaitGroup
		var lock sync.Mutex
		for _, h := range hosts {
			all.Go(func() {
				client, err := remote.WaitForSSH(ctx, h, key, remote.ForRestart, func(string) {})
				if err == nil {
					_ = client.Close()
					return
				}
				for _, final := range []error{remote.ErrOtherKey, remote.ErrRevokedKey, remote.ErrRefused} {
					if errors.Is(err, final) {
						lock.Lock()
						unreached[h.Name] = final
						lock.Unlock()
					}
				}
			})
		}
		all.Wait()
		return nil
	})
	return unreached
}
