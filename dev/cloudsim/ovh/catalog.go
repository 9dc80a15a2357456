package ovh

import "slices"

// The available versions of PostgreSQL. The last one has no TimescaleDB yet.
var versions = []string{"13", "14", "15", "16", "17", "18"}

const withoutTimescale = "18"

// A flavor is a node size.
type flavor struct {
	Name    string `json:"name"`
	Core    int    `json:"core"`
	Memory  int    `json:"memory"`  // GB
	Storage int    `json:"storage"` // minimum GB per node
}

// https://www.ovhcloud.com/en/public-cloud/prices/
var flavors = []flavor{
	{"db1-4", 2, 4, 80}, {"db1-7", 2, 7, 160}, {"db1-15", 4, 15, 320}, {"db1-30", 8, 30, 640},
	{"b3-8", 2, 8, 100}, {"b3-16", 4, 16, 200}, {"b3-32", 8, 32, 400},
}

// A plan determines the number of nodes.
type plan struct {
	name        string
	least, most int
	retention   string // retention of backups
}

var plans = []plan{
	{"essential", 1, 1, "P2D"}, {"business", 2, 9, "P14D"}, {"enterprise", 3, 9, "P30D"},
	{"production", 2, 9, "P14D"}, {"advanced", 3, 9, "P30D"},
}

func findFlavor(name string) (flavor, error) {
	i := slices.IndexFunc(flavors, func(f flavor) bool { return f.Name == name })
	if i < 0 {
		return flavor{}, bad("Invalid flavor %q for engine postgresql", name)
	}
	return flavors[i], nil
}

func findPlan(name string) (plan, error) {
	i := slices.IndexFunc(plans, func(p plan) bool { return p.name == name })
	if i < 0 {
		return plan{}, bad("Invalid plan %q for engine postgresql", name)
	}
	return plans[i], nil
}

// catalog adds the endpoints that list what is available.
func (c *Cloud) catalog() {
	// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/capabilities~GET
	c.handle("GET /cloud/project/{service}/database/capabilities", func(call) (any, error) {
		list := []any{}
		for _, p := range plans {
			list = append(list, map[string]any{"name": p.name, "description": p.name, "backupRetention": p.retention})
		}
		return map[string]any{
			"engines": []any{map[string]any{
				"name": "postgresql", "description": "relational database management system", "defaultVersion": "17",
				"sslModes": []string{"require"}, "versions": versions,
			}},
			"flavors": flavors, "plans": list, "options": []any{}, "disks": []string{diskType},
		}, nil
	})
	// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/availability~GET
	c.handle("GET /cloud/project/{service}/database/availability", func(call) (any, error) {
		list := []any{}
		for _, version := range versions {
			for _, p := range plans {
				for _, f := range flavors {
					list = append(list, map[string]any{
						"engine": "postgresql", "version": version, "plan": p.name, "flavor": f.Name, "region": "SIM", "network": "public",
						"status": "STABLE", "default": false, "minNodeNumber": p.least, "maxNodeNumber": p.most,
						"minDiskSize": f.Storage, "maxDiskSize": 10 * f.Storage, "backup": "automatic",
					})
				}
			}
		}
		return list, nil
	})
}
