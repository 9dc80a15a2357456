package stage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"slipway/internal/openstack"
	"slipway/internal/refusal"
)

// patience is how long a server may take to start or to stop.
const patience = 5 * time.Minute

// A machine is a resource in the state that runs, and can be looked at.
type machine struct {
	address string // in the state
	id      string
	name    string
}

// machines finds the servers that the environment's states hold.
func (s *session) machines(ctx context.Context) ([]machine, error) {
	var found []machine
	err := s.each(ctx, func(r *root) error {
		resources, err := r.recorded(ctx)
		if err != nil {
			return err
		}
		for _, address := range slices.Sorted(maps.Keys(resources)) {
			if resource := resources[address]; resource.Type == "openstack_compute_instance_v2" {
				found = append(found, machine{address: address, id: fmt.Sprint(resource.AttributeValues["id"]), name: fmt.Sprint(resource.AttributeValues["name"])})
			}
		}
		return nil
	})
	return found, err
}

// cloud logs in to where the servers are.
func (s *session) cloud(ctx context.Context) (*openstack.Cloud, error) {
	for _, variable := range openstack.Required {
		if s.credentials[variable] == "" {
			return nil, refusal.New(s.setCommand(variable), "the credentials of %s have no %s, by which its servers are found", s.Environment, variable)
		}
	}
	return openstack.Connect(ctx, s.credentials)
}

// status shows what runs.
func (s *session) status(ctx context.Context) error {
	list, cloud, err := s.lookUp(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	table := tabwriter.NewWriter(&s.report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATUS\tADDRESS\tRESOURCE")
	for _, m := range list {
		server, err := cloud.Get(ctx, m.id)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", plain(m.name), strings.ToLower(server.Status), server.Address, plain(m.address))
	}
	return table.Flush()
}

func (s *session) lookUp(ctx context.Context) ([]machine, *openstack.Cloud, error) {
	list, err := s.machines(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 0 {
		fmt.Fprintf(&s.report, "%s has no servers\n", s.Environment)
		return nil, nil, nil
	}
	cloud, err := s.cloud(ctx)
	return list, cloud, err
}

// start has every server run.
func (s *session) start(ctx context.Context) error {
	return s.power(ctx, "started", (*openstack.Cloud).Start)
}

// stop shuts every server down; nothing on it is lost. An apply starts it again.
func (s *session) stop(ctx context.Context) error {
	return s.power(ctx, "stopped", (*openstack.Cloud).Stop)
}

func (s *session) power(ctx context.Context, done string, change func(*openstack.Cloud, context.Context, string, time.Duration) error) error {
	list, cloud, err := s.lookUp(ctx)
	if err != nil {
		return err
	}
	if s.environment.Protected && s.result.Stage == "stop" {
		if err := s.confirmed(fmt.Sprintf("environment %s is protected, and stop shuts its servers down", s.Environment)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, m := range list {
		s.say("%s …", plain(m.name))
		if err := change(cloud, ctx, m.id, 2*time.Second); err != nil {
			return err
		}
		fmt.Fprintf(&s.report, "%s is %s\n", plain(m.name), done)
	}
	return nil
}
