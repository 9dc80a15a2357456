package ovh

import (
	"slices"
	"strings"
)

func (k *cluster) node(id string) map[string]any {
	return map[string]any{
		"id": id, "name": "postgresql-" + id[:8], "createdAt": k.Created, "flavor": k.Flavor, "region": k.Region, "status": k.State.Status, "port": port,
	}
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/node~GET
func (c *Cloud) listNodes(q call) (any, error) {
	k, err := q.cluster()
	return k.Nodes, err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/node/{nodeId}~GET
func (c *Cloud) showNode(q call) (any, error) {
	k, err := q.cluster()
	if err == nil && !slices.Contains(k.Nodes, q.PathValue("id")) {
		err = missing("Node %s not found", q.PathValue("id"))
	}
	if err != nil {
		return nil, err
	}
	return k.node(q.PathValue("id")), nil
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/advancedConfiguration~GET
func (c *Cloud) showAdvanced(q call) (any, error) {
	k, err := q.cluster()
	return k.Advanced, err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/advancedConfiguration~PUT
func (c *Cloud) updateAdvanced(q call) (any, error) {
	k, err := q.ready()
	if err != nil {
		return nil, err
	}
	k.Advanced = map[string]string{}
	if err := q.read(&k.Advanced); err != nil {
		return nil, err
	}
	if err := k.checkAdvanced(); err != nil {
		return nil, err
	}
	return k.Advanced, k.put(q.tx)
}

// checkAdvanced refuses TimescaleDB settings for a version without it.
func (k *cluster) checkAdvanced() error {
	for name := range k.Advanced {
		if strings.HasPrefix(name, "timescaledb.") && k.Version == withoutTimescale {
			return bad("Invalid advanced configuration %q: version %s has no TimescaleDB", name, k.Version)
		}
	}
	return nil
}
