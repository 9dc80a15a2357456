package ovh

import (
	"crypto/rand"
	"regexp"
	"slices"
	"strings"
	"time"
)

// administrator is the user that comes with each cluster.
const administrator = "avnadmin"

// superuser is the name that PostgreSQL's own superuser has, which no client of OVH's is.
const superuser = "postgres"

// A user is stored without its password: the API never returns it again either.
type user struct {
	ID, Name string
	Verifier string // what PostgreSQL stores of the password; empty: it has none
	Created  time.Time
	Roles    []string
	State    state
}

func (u user) view() map[string]any {
	return map[string]any{"id": u.ID, "username": u.Name, "createdAt": u.Created, "roles": u.Roles, "status": u.State.Status}
}

type userRequest struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

var names = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`)

// checkRoles refuses roles that OVH does not have: all other rights are granted with SQL.
func checkRoles(roles []string) error {
	for _, role := range roles {
		if role != "replication" {
			return bad("Invalid role %q: the only role is replication", role)
		}
	}
	return nil
}

func (k *cluster) user(id string) (*user, error) {
	i := slices.IndexFunc(k.Users, func(u user) bool { return u.ID == id })
	if i < 0 {
		return nil, missing("User %s not found", id)
	}
	return &k.Users[i], nil
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/user~GET
func (c *Cloud) listUsers(q call) (any, error) {
	k, err := q.cluster()
	ids := []string{}
	for _, u := range k.Users {
		ids = append(ids, u.ID)
	}
	return ids, err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/user~POST
func (c *Cloud) createUser(q call) (any, error) {
	k, err := q.ready()
	if err != nil {
		return nil, err
	}
	var asked userRequest
	if err := q.read(&asked); err != nil {
		return nil, err
	}
	if !names.MatchString(asked.Name) || asked.Name == superuser || strings.HasPrefix(asked.Name, "pg_") {
		return nil, bad("Invalid user name %q", asked.Name)
	}
	if err := checkRoles(asked.Roles); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(k.Users, func(u user) bool { return u.Name == asked.Name }) {
		return nil, conflict("User %q already exists", asked.Name)
	}
	u := user{ID: newID(), Name: asked.Name, Created: q.now, Roles: append([]string{}, asked.Roles...)}
	c.begin(q, &u.State, "PENDING", "CREATING", ready)
	v, err := u.newPassword()
	if err != nil {
		return nil, err
	}
	k.Users = append(k.Users, u)
	return v, k.put(q.tx)
}

// newPassword gives the user a new password, and returns its view with it, the only one that has it.
func (u *user) newPassword() (map[string]any, error) {
	v, password := u.view(), rand.Text()
	var err error
	u.Verifier, err = verifier(password)
	v["password"] = password
	return v, err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/user/{userId}~GET
func (c *Cloud) showUser(q call) (any, error) {
	k, err := q.cluster()
	if err != nil {
		return nil, err
	}
	u, err := k.user(q.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return u.view(), nil
}

// changedUser returns the user in the path, to be changed, and its cluster.
func (q call) changedUser() (cluster, *user, error) {
	k, err := q.ready()
	if err != nil {
		return k, nil, err
	}
	u, err := k.user(q.PathValue("id"))
	if err == nil && u.State.Status != ready {
		err = conflict("User %s is %s and not READY", u.Name, u.State.Status)
	}
	return k, u, err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/user/{userId}~PUT
func (c *Cloud) updateUser(q call) (any, error) {
	k, u, err := q.changedUser()
	if err != nil {
		return nil, err
	}
	var asked userRequest
	if err := q.read(&asked); err != nil {
		return nil, err
	}
	if err := checkRoles(asked.Roles); err != nil {
		return nil, err
	}
	u.Roles = append([]string{}, asked.Roles...)
	c.begin(q, &u.State, "UPDATING", ready)
	return u.view(), k.put(q.tx)
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/user/{userId}/credentials/reset~POST
func (c *Cloud) resetUser(q call) (any, error) {
	k, u, err := q.changedUser()
	if err != nil {
		return nil, err
	}
	c.begin(q, &u.State, "UPDATING", ready)
	v, err := u.newPassword()
	if err != nil {
		return nil, err
	}
	return v, k.put(q.tx)
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/user/{userId}~DELETE
func (c *Cloud) deleteUser(q call) (any, error) {
	k, u, err := q.changedUser()
	if err != nil {
		return nil, err
	}
	if u.Name == administrator {
		return nil, bad("User %s cannot be deleted", administrator)
	}
	c.begin(q, &u.State, "DELETING", deleted)
	return nil, k.put(q.tx)
}
