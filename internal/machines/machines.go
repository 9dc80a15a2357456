// Package machines finds the servers and the managed databases in an environment's states.
package machines

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/layer"
	"slipway/internal/run"
)

// A Machine is a resource in the state that runs and whose status can be queried.
type Machine struct {
	Address string // in the state
	ID      string
	Name    string

	Project, Engine string // only for a database
}

// Of returns the servers and the managed databases in the environment's states.
func Of(ctx context.Context, r *run.Run) (servers, databases []Machine, err error) {
	err = layer.Each(ctx, r, func(l *layer.Layer) error {
		recorded, err := l.Recorded(ctx)
		some, others := In(recorded)
		servers, databases = append(servers, some...), append(databases, others...)
		return err
	})
	return servers, databases, err
}

// In returns those in one state.
func In(recorded map[string]*tfjson.StateResource) (servers, databases []Machine) {
	for _, address := range slices.Sorted(maps.Keys(recorded)) {
		resource := recorded[address]
		m := Machine{Address: address, ID: layer.Attribute(resource, "id")}
		switch resource.Type {
		case "openstack_compute_instance_v2":
			m.Name = layer.Attribute(resource, "name")
			servers = append(servers, m)
		case "ovh_cloud_project_database":
			m.Name, m.Project, m.Engine = layer.Attribute(resource, "description"), layer.Attribute(resource, "service_name"), layer.Attribute(resource, "engine")
			databases = append(databases, m)
		}
	}
	return servers, databases
}
