package ovh

import "slices"

// A database has no status in the API: it either exists or does not.
type database struct {
	ID, Name string
	Default  bool // created with the cluster
	State    state
}

// systemDatabases are those that each PostgreSQL has for itself.
var systemDatabases = []string{"postgres", "template0", "template1"}

func (d database) view() map[string]any {
	return map[string]any{"id": d.ID, "name": d.Name, "default": d.Default}
}

func (k *cluster) database(id string) (*database, error) {
	i := slices.IndexFunc(k.Databases, func(d database) bool { return d.ID == id && d.State.Status != "CREATING" })
	if i < 0 {
		return nil, missing("Database %s not found", id)
	}
	return &k.Databases[i], nil
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/database~GET
func (c *Cloud) listDatabases(q call) (any, error) {
	k, err := q.cluster()
	ids := []string{}
	for _, d := range k.Databases {
		if d.State.Status != "CREATING" {
			ids = append(ids, d.ID)
		}
	}
	return ids, err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/database~POST
func (c *Cloud) createDatabase(q call) (any, error) {
	k, err := q.ready()
	if err != nil {
		return nil, err
	}
	var asked struct {
		Name string `json:"name"`
	}
	if err := q.read(&asked); err != nil {
		return nil, err
	}
	if !names.MatchString(asked.Name) || slices.Contains(systemDatabases, asked.Name) {
		return nil, bad("Invalid database name %q", asked.Name)
	}
	if slices.ContainsFunc(k.Databases, func(d database) bool { return d.Name == asked.Name }) {
		return nil, conflict("Database %q already exists", asked.Name)
	}
	d := database{ID: newID(), Name: asked.Name}
	c.begin(q, &d.State, "CREATING", ready)
	k.Databases = append(k.Databases, d)
	return d.view(), k.put(q.tx)
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/database/{databaseId}~GET
func (c *Cloud) showDatabase(q call) (any, error) {
	k, err := q.cluster()
	if err != nil {
		return nil, err
	}
	d, err := k.database(q.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return d.view(), nil
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/database/{databaseId}~DELETE
func (c *Cloud) deleteDatabase(q call) (any, error) {
	k, err := q.ready()
	if err != nil {
		return nil, err
	}
	d, err := k.database(q.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if d.Default {
		return nil, bad("Database %s cannot be deleted", d.Name)
	}
	c.begin(q, &d.State, "DELETING", deleted)
	return nil, k.put(q.tx)
}
