package ovh_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	client "github.com/ovh/go-ovh/ovh"

	"slipway/dev/cloudsim/faults"
)

// wrong puts one rule in force.
func (c *cloud) wrong(rule faults.Rule) {
	c.t.Helper()
	if err := c.rules.Replace([]faults.Rule{rule}); err != nil {
		c.t.Fatal(err)
	}
}

// A rule lets a cluster and what is in it end in ERROR.
func TestError(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	failing := faults.Rule{Times: 1, Set: map[string]string{"status": "ERROR"}}
	failing.Path = "/database/postgresql$"
	c.wrong(failing)
	path := clusters + "/" + c.post(clusters, wish()).ID
	c.await(path, "ERROR")
	refused(t, c.Post(path+"/user", object{"name": "app"}, nil), http.StatusConflict)
	if err := c.Delete(path, nil); err != nil {
		t.Error(err)
	}
	c.gone(path)

	path = c.cluster()
	failing.Path = "/user$"
	c.wrong(failing)
	c.await(path+"/user/"+c.post(path+"/user", object{"name": "app"}).ID, "ERROR")
}

// A rule keeps a cluster from becoming READY until it is repaired.
func TestStuck(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	for _, status := range []string{"CREATING", "ERROR_INCONSISTENT_SPEC"} {
		c.wrong(faults.Rule{Method: "POST", Path: "/database/postgresql$", Times: 1, Set: map[string]string{"status": status}})
		path := clusters + "/" + c.post(clusters, wish()).ID
		c.await(path, status)
		time.Sleep(3 * pace) //nolint:forbidigo // there is no event: it stays as it is
		if k := c.get(path); k.Status != status {
			t.Errorf("%+v", k)
		}
		refused(t, c.Post(path+"/user", object{"name": "app"}, nil), http.StatusConflict)
		if err := c.sim.Repair(); err != nil {
			t.Fatal(err)
		}
		if k := c.get(path); k.Status != "READY" || k.IPRestrictions[0].Status != "READY" {
			t.Errorf("%+v", k)
		}
		c.post(path+"/user", object{"name": "app"})
	}
}

// A request can fail before and after its effect, and without any answer.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		rule faults.Rule
		made int // how many clusters there are then
	}{
		"before":   {faults.Rule{Status: 500}, 0},
		"after":    {faults.Rule{Status: 502, AfterEffect: true}, 1},
		"lost":     {faults.Rule{Drop: true, AfterEffect: true}, 1},
		"too many": {faults.Rule{Status: 429}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fresh(t)
			one.rule.Method, one.rule.Times = "POST", 1
			c.wrong(one.rule)
			err := c.Post(clusters, wish(), nil)
			var no *client.APIError
			if one.rule.Drop == errors.As(err, &no) || err == nil {
				t.Errorf("%v", err)
			}
			if one.rule.Status != 0 {
				refused(t, err, one.rule.Status)
			}
			if ids := c.ids(clusters); len(ids) != one.made {
				t.Errorf("%v", ids)
			}
		})
	}
}
