// Package openstack asks an OpenStack cloud for the servers of an environment, starts
// and stops them, and finds what an interrupted apply may have made.
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

// Statuses of a server that are acted upon; see
// https://docs.openstack.org/api-guide/compute/server_concepts.html
const (
	Active  = "ACTIVE"
	Shutoff = "SHUTOFF"
	Failed  = "ERROR"
	Gone    = "GONE" // ours: there is no such server
)

// A Cloud is a connection to one region of a project.
type Cloud struct{ nova, neutron *gophercloud.ServiceClient }

// Required are the variables among the credentials without which nothing can be
// asked.
var Required = []string{"OS_AUTH_URL", "OS_USERNAME", "OS_PASSWORD"}

// Connect logs in with the variables that the openstack provider reads, too. A
// project is named by OS_TENANT_ID, OS_PROJECT_ID or by its name.
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

// A Server is what is shown of one.
type Server struct {
	ID, Name, Status string
	Address          string // the first public one, or the first; IPv4 before IPv6
}

// Get asks for one server. One that is not there has the status Gone.
func (c *Cloud) Get(ctx context.Context, id string) (Server, error) {
	s, err := servers.Get(ctx, c.nova, id).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return Server{ID: id, Status: Gone}, nil
	}
	if err != nil {
		return Server{}, fmt.Errorf("ask for server %s: %w", id, err)
	}
	return Server{ID: s.ID, Name: s.Name, Status: s.Status, Address: address(s)}, nil
}

// address picks the one by which a human would reach the server.
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

// Start has a server run, and waits until it does.
func (c *Cloud) Start(ctx context.Context, id string, every time.Duration) error {
	return c.change(ctx, id, Active, every, func() error { return servers.Start(ctx, c.nova, id).ExtractErr() })
}

// Stop shuts a server down, and waits until it is.
func (c *Cloud) Stop(ctx context.Context, id string, every time.Duration) error {
	return c.change(ctx, id, Shutoff, every, func() error { return servers.Stop(ctx, c.nova, id).ExtractErr() })
}

// change asks for a status, unless it is there, and looks again until it is.
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
			// 409: it is on its way already.
			if err := ask(); err != nil && !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
				return fmt.Errorf("ask server %s to become %s: %w", s.Name, want, err)
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("server %s is %s, and not %s yet", s.Name, s.Status, want), ctx.Err())
		case <-time.After(every):
		}
	}
}
