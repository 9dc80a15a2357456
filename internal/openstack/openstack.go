// Package openstack queries an OpenStack cloud for the servers of an environment, starts and stops
// them, and finds what an interrupted apply may have created.
package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	client "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// The server statuses that matter here; see
// https://docs.openstack.org/api-guide/compute/server_concepts.html
const (
	Active  = "ACTIVE"
	Shutoff = "SHUTOFF"
	Failed  = "ERROR"
	Gone    = "GONE" // our own status: the server does not exist
)

// A Cloud is a connection to one region of a project.
type Cloud struct{ nova, neutron *gophercloud.ServiceClient }

// Required are the credentials without which the cloud cannot be queried.
var Required = []string{"OS_AUTH_URL", "OS_USERNAME", "OS_PASSWORD"}

// Connect logs in with the same variables as the openstack provider. The project is given by
// OS_TENANT_ID, OS_PROJECT_ID or its name.
func Connect(ctx context.Context, variables map[string]string) (*Cloud, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if v := variables[name]; v != "" {
				return v
			}
		}
		return ""
	}
	options := gophercloud.AuthOptions{
		IdentityEndpoint: variables["OS_AUTH_URL"],
		Username:         variables["OS_USERNAME"],
		Password:         variables["OS_PASSWORD"],
		TenantID:         first("OS_TENANT_ID", "OS_PROJECT_ID"),
		AllowReauth:      true,
	}
	if options.TenantID == "" {
		options.TenantName = first("OS_TENANT_NAME", "OS_PROJECT_NAME")
	}
	if options.DomainID = first("OS_USER_DOMAIN_ID", "OS_DOMAIN_ID"); options.DomainID == "" {
		if options.DomainName = first("OS_USER_DOMAIN_NAME", "OS_DOMAIN_NAME"); options.DomainName == "" {
			options.DomainName = "Default"
		}
	}
	provider, err := client.AuthenticatedClient(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("log in to OpenStack: %w", err)
	}
	region := gophercloud.EndpointOpts{Region: variables["OS_REGION_NAME"]}
	nova, err := client.NewComputeV2(provider, region)
	if err != nil {
		return nil, fmt.Errorf("find the compute service of OpenStack: %w", err)
	}
	neutron, err := client.NewNetworkV2(provider, region)
	if err != nil {
		return nil, fmt.Errorf("find the network service of OpenStack: %w", err)
	}
	return &Cloud{nova, neutron}, nil
}

// A Server is what is shown of a server.
type Server struct {
	ID, Name, Status string
	Address          string // the first public address, otherwise the first; IPv4 before IPv6
}

// Get queries one server. A server that does not exist has the status Gone.
func (c *Cloud) Get(ctx context.Context, id string) (Server, error) {
	s, err := servers.Get(ctx, c.nova, id).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return Server{ID: id, Status: Gone}, nil
	}
	if err != nil {
		return Server{}, fmt.Errorf("query server %s: %w", id, err)
	}
	return Server{ID: s.ID, Name: s.Name, Status: s.Status, Address: address(s)}, nil
}

// address picks the address at which a human would reach the server.
func address(s *servers.Server) string {
	if s.AccessIPv4 != "" {
		return s.AccessIPv4
	}
	best, rank := "", 9
	for network, list := range s.Addresses {
		entries, _ := list.([]any)
		for _, entry := range entries {
			fields, _ := entry.(map[string]any)
			text, _ := fields["addr"].(string)
			version, _ := fields["version"].(float64)
			r := 2
			if network == "Ext-Net" {
				r = 0
			}
			if version != 4 {
				r++
			}
			if text != "" && (r < rank || r == rank && text < best) {
				best, rank = text, r
			}
		}
	}
	return best
}

// Start starts a server and waits until it is running.
func (c *Cloud) Start(ctx context.Context, id string, every time.Duration) error {
	return c.change(ctx, id, Active, every, func() error { return servers.Start(ctx, c.nova, id).ExtractErr() })
}

// Stop shuts a server down and waits until it is off.
func (c *Cloud) Stop(ctx context.Context, id string, every time.Duration) error {
	return c.change(ctx, id, Shutoff, every, func() error { return servers.Stop(ctx, c.nova, id).ExtractErr() })
}

// change calls ask unless the server already has the wanted status, and polls until it has.
func (c *Cloud) change(ctx context.Context, id, want string, every time.Duration, ask func() error) error {
	asked := false
	for {
		s, err := c.Get(ctx, id)
		switch {
		case err != nil:
			return err
		case s.Status == want:
			return nil
		case s.Status == Failed || s.Status == Gone:
			return fmt.Errorf("server %s is %s", strings.TrimSpace(s.Name+" "+id), s.Status)
		case !asked && (s.Status == Active || s.Status == Shutoff):
			asked = true
			// 409: the change is already in progress.
			if err := ask(); err != nil && !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
				return fmt.Errorf("ask server %s to become %s: %w", s.Name, want, err)
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("server %s is still %s, not %s", s.Name, s.Status, want), ctx.Err())
		case <-time.After(every):
		}
	}
}

// Reboot cuts a server's power and starts it again. It does not wait.
func (c *Cloud) Reboot(ctx context.Context, id string) error {
	return servers.Reboot(ctx, c.nova, id, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr()
}
