// Package servers contains the commands for the machines of an environment: status, start, stop and
// ssh.
package servers

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/layer"
	"slipway/internal/run"
)

// A machine is a resource in the state that runs and whose status can be queried.
type machine struct {
	address string // in the state
	id      string
	name    string

	project, engine string // only for a database
}

// machines returns the servers and the managed databases in the environment's states.
func machines(ctx context.Context, r *run.Run) (servers, databases []machine, err error) {
	err = layer.Each(ctx, r, func(l *layer.Layer) error {
		recorded, err := l.Recorded(ctx)
		some, others := machinesIn(recorded)
		servers, databases = append(servers, some...), append(databases, others...)
		return err
	})
	return servers, databases, err
}

// machinesIn returns those in one state.
func machinesIn(recorded map[string]*tfjson.StateResource) (servers, databases []machine) {
	for _, address := range slices.Sorted(maps.Keys(recorded)) {
		resource := recorded[address]
		m := machine{address: address, id: layer.Attribute(resource, "id")}
		switch resource.Type {
		case "openstack_compute_instance_v2":
			m.name = layer.Attribute(resource, "name")
			servers = append(servers, m)
		case "ovh_cloud_project_database":
			m.name, m.project, m.engine = layer.Attribute(resource, "description"), layer.Attribute(resource, "service_name"), layer.Attribute(resource, "engine")
			databases = append(databases, m)
		}
	}
	return servers, databases
}
