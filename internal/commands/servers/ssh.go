package servers

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"slipway/internal/fault"
	"slipway/internal/hosts"
	"slipway/internal/inventory"
	"slipway/internal/layer"
	"slipway/internal/remote"
	"slipway/internal/run"
)

// SSH opens a shell on a host after checking its host key.
func SSH() run.Command {
	var host string
	return run.Command{
		Name: "ssh", Help: "open a shell on a host of an environment, after checking its host key",
		Opens: run.State,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&host, "host", "", "name of the host, if there are several")
		},
		Run: func(ctx context.Context, r *run.Run) error { return logIn(ctx, r, host) },
	}
}

func logIn(ctx context.Context, r *run.Run, host string) error {
	var all []remote.Host
	err := layer.Each(ctx, r, func(l *layer.Layer) error {
		outputs, err := l.Outputs(ctx)
		if err != nil {
			return err
		}
		found, err := hosts.Of(l, outputs)
		all = append(all, found...)
		return err
	})
	if err == nil {
		err = hosts.Route(r.Environment, all)
	}
	if err != nil {
		return err
	}
	return openShell(ctx, r, all, host)
}

// openShell opens a shell on the named host, or on the only one.
func openShell(ctx context.Context, r *run.Run, all []remote.Host, host string) error {
	h, err := choose(r, all, host)
	if err != nil {
		return err
	}
	key, err := hosts.NeedPrivateKey(r)
	if err != nil {
		return err
	}
	client, err := remote.Dial(ctx, h, key)
	if err != nil {
		return fmt.Errorf("log in to %s at %s: %w", h.Name, h.Address, err)
	}
	defer client.Close()
	return remote.Terminal(ctx, client)
}

// choose returns the named host, or the only one.
func choose(r *run.Run, all []remote.Host, name string) (remote.Host, error) {
	var names []string
	for _, h := range all {
		if h.Name == name || name == "" && len(all) == 1 {
			return h, nil
		}
		names = append(names, h.Name)
	}
	if len(all) == 0 {
		return remote.Host{}, fault.Refuse("dagger call apply --env="+r.Env, "environment %s has no hosts: no layer has an output %s", r.Env, inventory.HostsOutput)
	}
	hint := "dagger call ssh --env=" + r.Env + " --host=" + names[0]
	if name == "" {
		return remote.Host{}, fault.Refuse(hint, "environment %s has several hosts: %s", r.Env, strings.Join(names, ", "))
	}
	return remote.Host{}, fault.Refuse(hint, "environment %s has no host %q; its hosts are %s", r.Env, name, strings.Join(names, ", "))
}
