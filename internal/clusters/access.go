package clusters

import (
	"context"
	"errors"
	"net"

	"slipway/internal/fault"
	"slipway/internal/hosts"
	"slipway/internal/remote"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/talosapi"
	"slipway/internal/tunnel"
	"slipway/internal/workspace"
)

// Reach opens a cluster, as Open does, and the way to its nodes.
func Reach(ctx context.Context, r *run.Run) (*Cluster, *talosapi.Access, error) {
	c, err := Open(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if c.Listed && c.NeedsLayers() { // Open has not asked them
		if err := workspace.Prepare(r); err != nil {
			return nil, nil, err
		}
		if err := c.AskLayers(ctx); err != nil {
			return nil, nil, err
		}
	}
	access, err := c.Access(ctx)
	return c, access, err
}

// jumps reports whether the nodes are behind a bastion.
func (c *Cluster) jumps() bool { return c.Environment.SSH != nil && c.Environment.SSH.Jump != "" }

// NeedsLayers reports whether the layers have to be asked first: they list the nodes, or the bastion on the way to them.
func (c *Cluster) NeedsLayers() bool { return !c.Listed || c.Secrets != nil && c.jumps() }

// Access lets this run in to the nodes, in the way that environment.yaml names under ssh. It is the same for the whole
// run, and ends with ctx. The layers have been asked if NeedsLayers says so.
func (c *Cluster) Access(ctx context.Context) (*talosapi.Access, error) {
	if c.access != nil {
		return c.access, nil
	}
	access, err := talosapi.NewAccess(c.Secrets)
	if err != nil {
		return nil, err
	}
	switch {
	case c.jumps():
		if err := c.openTunnel(ctx); err != nil {
			return nil, err
		}
		access.Dial = c.tunnel.Dial
	case c.Environment.SSH != nil:
		proxy := c.Environment.SSH.Proxy
		access.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return remote.Connect(ctx, proxy, address)
		}
	}
	c.access = access
	return access, nil
}

// openTunnel prepares the tunnel through the bastion, which nobody is logged in to before it is used.
func (c *Cluster) openTunnel(ctx context.Context) error {
	key, err := hosts.NeedPrivateKey(c.Run)
	if err != nil {
		return err
	}
	bastion, err := hosts.Bastion(c.Environment, c.hosts)
	if err != nil {
		return err
	}
	c.tunnel = tunnel.New(ctx, bastion, key)
	return nil
}

// Refused returns a refusal if no login at the bastion can succeed: waiting for the nodes would not help.
func (c *Cluster) Refused() error {
	if c.tunnel == nil {
		return nil
	}
	err := c.tunnel.Refused()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, remote.ErrRefused):
		return fault.Refuse(c.SetCommand(secrets.OperatorKey), "%w", err)
	}
	return fault.Refuse("dagger call output --env="+c.Env+"   # its known_hosts, to compare with the console of "+c.Environment.SSH.Jump, "%w", err)
}
