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
func (s *Run) machines(ctx context.Context) (servers, databases []machine, err error) {
	err = s.Each(ctx, func(r *Layer) error {
		recorded, err := r.Recorded(ctx)
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
		m := machine{address: address, id: Attribute(resource, "id")}
		switch resource.Type {
		case "openstack_compute_instance_v2":
			m.name = Attribute(resource, "name")
			servers = append(servers, m)
		case "ovh_cloud_project_database":
			m.name, m.project, m.engine = Attribute(resource, "description"), Attribute(resource, "service_name"), Attribute(resource, "engine")
			databases = append(databases, m)
		}
	}
	return servers, databases
}

// Attribute is a text among a resource's values; empty if it has none.
func Attribute(resource *tfjson.StateResource, name string) string {
	text, _ := resource.AttributeValues[name].(string)
	return text
}

// OpenStack logs in to where the servers are.
func (s *Run) OpenStack(ctx context.Context) (cloud *openstack.Cloud, err error) {
	if err := s.Need(openstack.Required, "servers"); err != nil {
		return nil, err
	}
	if s.openstack == nil {
		s.openstack, err = openstack.Connect(ctx, s.Credentials)
	}
	return s.openstack, err
}

// OVH connects to where the managed databases are.
func (s *Run) OVH() (*ovh.Account, error) {
	if err := s.Need(ovh.Required, "databases"); err != nil {
		return nil, err
	}
	account, err := ovh.Connect(s.Credentials)
	if err != nil {
		return nil, refusal.New(s.SetCommand("OVH_ENDPOINT"), "the credentials of %s: %v", s.Env, err)
	}
	return account, nil
}

// Need refuses to look for what cannot be asked for.
func (s *Run) Need(variables []string, what string) error {
	for _, variable := range variables {
		if s.Credentials[variable] == "" {
			return refusal.New(s.SetCommand(variable), "the credentials of %s have no %s, by which its %s are found", s.Env, variable, what)
		}
	}
	return nil
}

// status shows what runs.
func (s *Run) status(ctx context.Context) error {
	servers, databases, err := s.machines(ctx)
	if err != nil {
		return err
	}
	return s.showMachines(ctx, servers, databases)
}

func (s *Run) showMachines(ctx context.Context, servers, databases []machine) error {
	if len(servers)+len(databases) == 0 {
		fmt.Fprintf(&s.Report, "%s has no servers and no databases\n", s.Env)
		return nil
	}
	table := tabwriter.NewWriter(&s.Report, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATUS\tADDRESS\tRESOURCE")
	row := func(m machine, status, address string) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", plain(m.name), plain(strings.ToLower(status)), plain(address), plain(m.address))
	}
	// Who has only the one kind needs no credentials for the other.
	if len(servers) > 0 {
		cloud, err := s.OpenStack(ctx)
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
		account, err := s.OVH()
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
func (s *Run) start(ctx context.Context) error {
	return s.power(ctx, "started", (*openstack.Cloud).Start)
}

// stop shuts every server down; nothing on it is lost. An apply starts it again.
func (s *Run) stop(ctx context.Context) error {
	return s.power(ctx, "stopped", (*openstack.Cloud).Stop)
}

func (s *Run) power(ctx context.Context, done string, change func(*openstack.Cloud, context.Context, string, time.Duration) error) error {
	servers, databases, err := s.machines(ctx)
	if err != nil {
		return err
	}
	return s.powerMachines(ctx, servers, databases, done, change)
}

func (s *Run) powerMachines(ctx context.Context, servers, databases []machine, done string, change func(*openstack.Cloud, context.Context, string, time.Duration) error) error {
	stop := s.Result.Stage == "stop"
	if s.Environment.Protected && stop {
		if err := s.Confirmed(fmt.Sprintf("environment %s is protected, and stop shuts its servers down", s.Env)); err != nil {
			return err
		}
	}
	if len(servers) == 0 {
		fmt.Fprintf(&s.Report, "%s has no servers\n", s.Env)
	} else if err := s.powerAll(ctx, servers, done, change); err != nil {
		return err
	}
	if stop {
		for _, m := range databases {
			fmt.Fprintf(&s.Report, "%s is a managed database: it cannot be stopped, runs on and is charged\n", plain(m.name))
		}
	}
	return nil
}

func (s *Run) powerAll(ctx context.Context, servers []machine, done string, change func(*openstack.Cloud, context.Context, string, time.Duration) error) error {
	cloud, err := s.OpenStack(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, m := range servers {
		s.Say("%s …", plain(m.name))
		if err := change(cloud, ctx, m.id, 2*time.Second); err != nil {
			return err
		}
		fmt.Fprintf(&s.Report, "%s is %s\n", plain(m.name), done)
	}
	return nil
}
