package stage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/openstack"
	"slipway/internal/ovh"
	"slipway/internal/refusal"
)

// patience is how long a server may take to start or to stop.
const patience = 5 * time.Minute

// A machine is a resource in the state that runs, and can be looked at.
type machine struct {
	address string // in the state
	id      string
	name    string

	project, engine string // of a database
}

// machines finds the servers and the managed databases that the environment's states
// hold.
func (s *session) machines(ctx context.Context) (servers, databases []machine, err error) {
	err = s.each(ctx, func(r *root) error {
		recorded, err := r.recorded(ctx)
		some, others := machinesIn(recorded)
		servers, databases = append(servers, some...), append(databases, others...)
		return err
	})
	return servers, databases, err
}

// machinesIn finds them in one state.
func machinesIn(recorded map[string]*tfjson.StateResource) (servers, databases []machine) {
	for _, address := range slices.Sorted(maps.Keys(recorded)) {
		resource := recorded[address]
		m := machine{address: address, id: attribute(resource, "id")}
		switch resource.Type {
		case "openstack_compute_instance_v2":
			m.name = attribute(resource, "name")
			servers = append(servers, m)
		case "ovh_cloud_project_database":
			m.name, m.project, m.engine = attribute(resource, "description"), attribute(resource, "service_name"), attribute(resource, "engine")
			databases = append(databases, m)
		}
	}
	return servers, databases
}

// attribute is a text among a resource's values; empty if it has none.
func attribute(resource *tfjson.StateResource, name string) string {
	text, _ := resource.AttributeValues[name].(string)
	return text
}

// cloud logs in to where the servers are.
func (s *session) cloud(ctx context.Context) (cloud *openstack.Cloud, err error) {
	if err := s.need(openstack.Required, "servers"); err != nil {
		return nil, err
	}
	if s.openstack == nil {
		s.openstack, err = openstack.Connect(ctx, s.credentials)
	}
	return s.openstack, err
}

// ovh connects to where the managed databases are.
func (s *session) ovh() (*ovh.Account, error) {
	if err := s.need(ovh.Required, "databases"); err != nil {
		return nil, err
	}
	account, err := ovh.Connect(s.credentials)
	if err != nil {
		return nil, refusal.New(s.setCommand("OVH_ENDPOINT"), "the credentials of %s: %v", s.Environment, err)
	}
	return account, nil
}

// need refuses to look for what cannot be asked for.
func (s *session) need(variables []string, what string) error {
	for _, variable := range variables {
		if s.credentials[variable] == "" {
			return refusal.New(s.setCommand(variable), "the credentials of %s have no %s, by which its %s are found", s.Environment, variable, what)
		}
	}
	return nil
}

// status shows what runs.
func (s *session) status(ctx context.Context) error {
	servers, databases, err := s.machines(ctx)
	if err != nil {
		return err
	}
	return s.showMachines(ctx, servers, databases)
}

func (s *session) showMachines(ctx context.Context, servers, databases []machine) error {
	if len(servers)+len(databases) == 0 {
		fmt.Fprintf(&s.report, "%s has no servers and no databases\n", s.Environment)
		return nil
	}
	table := tabwriter.NewWriter(&s.report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATUS\tADDRESS\tRESOURCE")
	row := func(m machine, status, address string) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", plain(m.name), plain(strings.ToLower(status)), plain(address), plain(m.address))
	}
	// Who has only the one kind needs no credentials for the other.
	if len(servers) > 0 {
		cloud, err := s.cloud(ctx)
		if err != nil {
			return err
		}
		for _, m := range servers {
			server, err := cloud.Get(ctx, m.id)
			if err != nil {
				return err
			}
			row(m, server.Status, server.Address)
		}
	}
	if len(databases) > 0 {
		account, err := s.ovh()
		if err != nil {
			return err
		}
		for _, m := range databases {
			database, err := account.Get(ctx, m.project, m.engine, m.id)
			if err != nil {
				return err
			}
			row(m, database.Status, database.Address)
		}
	}
	return table.Flush()
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
	servers, databases, err := s.machines(ctx)
	if err != nil {
		return err
	}
	return s.powerMachines(ctx, servers, databases, done, change)
}

func (s *session) powerMachines(ctx context.Context, servers, databases []machine, done string, change func(*openstack.Cloud, context.Context, string, time.Duration) error) error {
	stop := s.result.Stage == "stop"
	if s.environment.Protected && stop {
		if err := s.confirmed(fmt.Sprintf("environment %s is protected, and stop shuts its servers down", s.Environment)); err != nil {
			return err
		}
	}
	if len(servers) == 0 {
		fmt.Fprintf(&s.report, "%s has no servers\n", s.Environment)
	} else if err := s.powerAll(ctx, servers, done, change); err != nil {
		return err
	}
	if stop {
		for _, m := range databases {
			fmt.Fprintf(&s.report, "%s is a managed database: it cannot be stopped, runs on and is charged\n", plain(m.name))
		}
	}
	return nil
}

func (s *session) powerAll(ctx context.Context, servers []machine, done string, change func(*openstack.Cloud, context.Context, string, time.Duration) error) error {
	cloud, err := s.cloud(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, m := range servers {
		s.say("%s …", plain(m.name))
		if err := change(cloud, ctx, m.id, 2*time.Second); err != nil {
			return err
		}
		fmt.Fprintf(&s.report, "%s is %s\n", plain(m.name), done)
	}
	return nil
}
