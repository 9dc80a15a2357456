// Package clouds connects to the clouds of an environment, with its credentials.
package clouds

import (
	"context"

	"slipway/internal/fault"
	"slipway/internal/openstack"
	"slipway/internal/ovh"
	"slipway/internal/run"
)

// Clouds are the clouds of an environment. Each login happens once, when it is first needed.
type Clouds struct {
	run       *run.Run
	openstack *openstack.Cloud
}

// Of returns the clouds of a run whose credentials are open.
func Of(r *run.Run) *Clouds { return &Clouds{run: r} }

// OpenStack returns the cloud that hosts the servers.
func (c *Clouds) OpenStack(ctx context.Context) (cloud *openstack.Cloud, err error) {
	if err := c.Need(openstack.Required, "servers"); err != nil {
		return nil, err
	}
	if c.openstack == nil {
		c.openstack, err = openstack.Connect(ctx, c.run.Credentials)
	}
	return c.openstack, err
}

// OVH returns the account with the managed databases.
func (c *Clouds) OVH() (*ovh.Account, error) {
	if err := c.Need(ovh.Required, "databases"); err != nil {
		return nil, err
	}
	account, err := ovh.Connect(c.run.Credentials)
	if err != nil {
		return nil, fault.Refuse(c.run.SetCommand("OVH_ENDPOINT"), "the credentials of %s: %v", c.run.Env, err)
	}
	return account, nil
}

// Need refuses to continue if one of the variables that a search needs is missing.
func (c *Clouds) Need(variables []string, what string) error {
	for _, variable := range variables {
		if c.run.Credentials[variable] == "" {
			return fault.Refuse(c.run.SetCommand(variable), "the credentials of %s have no %s, which is needed to find its %s", c.run.Env, variable, what)
		}
	}
	return nil
}
