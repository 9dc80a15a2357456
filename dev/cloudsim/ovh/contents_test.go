package ovh_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"slipway/internal/testkit/soon"
)

// A user's password is returned once, and again when it is reset.
func TestUser(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	path := c.cluster() + "/user"
	made := c.post(path, object{"name": "app", "roles": []string{"replication"}})
	own := path + "/" + made.ID
	if made.Username != "app" || len(made.Password) < 16 || made.Status != "PENDING" {
		t.Errorf("%+v", made)
	}
	c.await(own, "READY")
	if u := c.get(own); u.Password != "" || !slices.Equal(u.Roles, []string{"replication"}) {
		t.Errorf("%+v", u)
	}
	refused(t, c.Post(path, object{"name": "app"}, nil), http.StatusConflict)
	refused(t, c.Post(path, object{"name": "two words"}, nil), http.StatusBadRequest)
	refused(t, c.Post(path, object{"name": "other", "roles": []string{"king"}}, nil), http.StatusBadRequest)
	reset := c.post(own+"/credentials/reset", nil)
	if reset.Password == "" || reset.Password == made.Password {
		t.Errorf("%+v", reset)
	}
	c.await(own, "READY")
	if err := c.Put(own, object{"roles": []string{}}, nil); err != nil {
		t.Error(err)
	}
	c.await(own, "READY")
	if u := c.get(own); len(u.Roles) != 0 {
		t.Errorf("%+v", u)
	}
	ids := c.ids(path)
	if len(ids) != 2 || c.get(path+"/"+ids[0]).Username != "avnadmin" {
		t.Errorf("%v", ids)
	}
	refused(t, c.Delete(path+"/"+ids[0], nil), http.StatusBadRequest)
	if err := c.Delete(own, nil); err != nil {
		t.Error(err)
	}
	c.gone(own)
}

// A database is there only when it is made; defaultdb always is.
func TestDatabase(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	path := c.cluster() + "/database"
	made := c.post(path, object{"name": "app"})
	soon.Wait(t, "the database is listed", func() bool { return len(c.ids(path)) == 2 })
	if d := c.get(path + "/" + made.ID); d.Name != "app" || d.Default {
		t.Errorf("%+v", d)
	}
	refused(t, c.Post(path, object{"name": "app"}, nil), http.StatusConflict)
	refused(t, c.Post(path, object{"name": ""}, nil), http.StatusBadRequest)
	standard := c.ids(path)[0]
	if d := c.get(path + "/" + standard); d.Name != "defaultdb" || !d.Default {
		t.Errorf("%+v", d)
	}
	refused(t, c.Delete(path+"/"+standard, nil), http.StatusBadRequest)
	if err := c.Delete(path+"/"+made.ID, nil); err != nil {
		t.Error(err)
	}
	c.gone(path + "/" + made.ID)
}

// Restrictions are changed one after another, by their addresses.
func TestRestriction(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	path := c.cluster() + "/ipRestriction"
	if made := c.post(path, object{"ip": "198.51.100.7", "description": "one"}); made.IP != "198.51.100.7/32" || made.Status != "PENDING" {
		t.Errorf("%+v", made)
	}
	own := path + "/198.51.100.7%2F32"
	c.await(own, "READY")
	refused(t, c.Post(path, object{"ip": "198.51.100.7/32"}, nil), http.StatusConflict)
	refused(t, c.Post(path, object{"ip": "everybody"}, nil), http.StatusBadRequest)
	if err := c.Put(own, object{"description": "two"}, nil); err != nil {
		t.Error(err)
	}
	c.await(own, "READY")
	if r := c.get(own); r.Description != "two" {
		t.Errorf("%+v", r)
	}
	if ips := c.ids(path); !slices.Equal(ips, []string{"203.0.113.0/24", "198.51.100.7/32"}) {
		t.Errorf("%v", ips)
	}
	if err := c.Delete(own, nil); err != nil {
		t.Error(err)
	}
	c.gone(own)
	cluster := strings.TrimSuffix(path, "/ipRestriction")
	if err := c.Put(cluster, object{"ipRestrictions": []object{}}, nil); err != nil {
		t.Error(err)
	}
	if ips := c.ids(path); len(ips) != 0 {
		t.Errorf("%v", ips)
	}
}
