package openstack_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"slipway/dev/cloudsim/faults"
)

// wrong puts one rule in force.
func (c *cloud) wrong(rule faults.Rule) {
	c.t.Helper()
	must(c.t, 0, c.rules.Replace([]faults.Rule{rule}))
}

// A rule lets a server end in ERROR: it says why, has no addresses, and can be
// deleted.
func TestServerError(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	c.wrong(faults.Rule{Method: "POST", Path: `/compute/v2\.1/servers$`, Times: 1, Set: map[string]string{"status": "ERROR", "message": "No valid host was found."}})
	made, err := c.create(extNet(c))
	s := c.await(must(t, made, err).ID, "ERROR")
	if s.Fault.Code != http.StatusInternalServerError || s.Fault.Message != "No valid host was found." || s.Fault.Created.IsZero() || len(s.Addresses) != 0 {
		t.Errorf("%+v", s)
	}
	if left := c.ports(ports.ListOpts{}); len(left) != 0 {
		t.Errorf("%+v", left)
	}
	must(t, 0, servers.Delete(t.Context(), c.compute, s.ID).ExtractErr())
	refused(t, servers.Get(t.Context(), c.compute, s.ID).Err, http.StatusNotFound) // at once: it was on no machine

	made, err = c.create(extNet(c))
	s = c.await(must(t, made, err).ID, "ACTIVE")
	c.wrong(faults.Rule{Method: "DELETE", Path: "/servers/", Times: 1, Set: map[string]string{"status": "ERROR"}})
	must(t, 0, servers.Delete(t.Context(), c.compute, s.ID).ExtractErr())
	if s = c.await(s.ID, "ERROR"); len(s.Addresses) == 0 || s.Fault.Message == "" {
		t.Errorf("%+v", s)
	}
}

// A request can fail before and after its effect, slowly, and without any answer.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		rule faults.Rule
		made int // how many networks there are then
	}{
		"before":     {faults.Rule{Status: 500}, 0},
		"after":      {faults.Rule{Status: 502, AfterEffect: true}, 1},
		"no answer":  {faults.Rule{Drop: true}, 0},
		"lost":       {faults.Rule{Drop: true, AfterEffect: true}, 1},
		"too many":   {faults.Rule{Status: 429}, 0},
		"slow":       {faults.Rule{Status: 503, DelayMilliseconds: 200}, 0},
		"slow, good": {faults.Rule{DelayMilliseconds: 200}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fresh(t)
			one.rule.Method, one.rule.Path, one.rule.Times = "POST", "/networks$", 1
			c.wrong(one.rule)
			start := time.Now()
			_, err := networks.Create(t.Context(), c.network, networks.CreateOpts{Name: "private"}).Extract()
			if (err == nil) != (name == "slow, good") {
				t.Errorf("%v", err)
			}
			if one.rule.Status != 0 {
				refused(t, err, one.rule.Status)
			}
			if took := time.Since(start); took < time.Duration(one.rule.DelayMilliseconds)*time.Millisecond { //nolint:forbidigo // a lower limit
				t.Errorf("it took %s", took)
			}
			if all := c.networks(networks.ListOpts{Name: "private"}); len(all) != one.made {
				t.Errorf("%d networks are there", len(all))
			}
		})
	}
}
