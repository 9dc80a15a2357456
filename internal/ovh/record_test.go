package ovh

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"slipway/dev/cloudsim/faults"
	sim "slipway/dev/cloudsim/ovh"
)

// A record is found by its zone, name, type and target, and not by its age.
func TestFindRecord(t *testing.T) {
	t.Parallel()
	account, rules := fresh(t)
	make := func(kind, subDomain, target string) string {
		t.Helper()
		var made struct{ ID int64 }
		if err := account.api.Post("/domain/zone/"+sim.Zone+"/record", map[string]any{"fieldType": kind, "subDomain": subDomain, "target": target}, &made); err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(made.ID, 10)
	}
	a, b := make("A", "test", "203.0.113.2"), make("A", "test", "203.0.113.2")
	whole := make("A", "", "203.0.113.2")
	other := make("A", "test", "203.0.113.3")
	make("AAAA", "test", "2001:db8::2")
	type values = map[string]any
	for name, c := range map[string]struct {
		values values
		want   []string

		certain bool
	}{
		"two of them":          {values{"zone": sim.Zone, "subdomain": "test", "fieldtype": "A", "target": "203.0.113.2"}, []string{a, b}, true},
		"that of the zone":     {values{"zone": sim.Zone, "subdomain": "", "fieldtype": "A", "target": "203.0.113.2"}, []string{whole}, true},
		"another target":       {values{"zone": sim.Zone, "subdomain": "test", "fieldtype": "A", "target": "203.0.113.9"}, nil, true},
		"another type":         {values{"zone": sim.Zone, "subdomain": "test", "fieldtype": "AAAA", "target": "203.0.113.2"}, nil, true},
		"another zone":         {values{"zone": "example.net", "subdomain": "test", "fieldtype": "A", "target": "203.0.113.2"}, nil, true},
		"a zone not known":     {values{"subdomain": "test", "fieldtype": "A", "target": "203.0.113.2"}, nil, false},
		"a type not known":     {values{"zone": sim.Zone, "subdomain": "test", "target": "203.0.113.2"}, nil, false},
		"an address not known": {values{"zone": sim.Zone, "subdomain": "test", "fieldtype": "A"}, []string{a, b, other}, false},
		"a name not known":     {values{"zone": sim.Zone, "fieldtype": "A", "target": "203.0.113.2"}, []string{a, b, whole}, false},
		"no name":              {values{"zone": sim.Zone, "subdomain": nil, "fieldtype": "A", "target": "203.0.113.2"}, []string{whole}, true},
		"none of either":       {values{"zone": sim.Zone, "subdomain": "x", "fieldtype": "A"}, nil, true},
	} {
		slices.Sort(c.want)
		found, undated, certain, err := account.Find(t.Context(), record, c.values, time.Now().Add(-time.Hour))
		if err != nil || len(undated) > 0 || !slices.Equal(found, c.want) || certain != c.certain {
			t.Errorf("%s: %v, %v, %v, %v", name, found, undated, certain, err)
		}
	}
	for _, path := range []string{"/record\\b", "/record/"} {
		if err := rules.Replace([]faults.Rule{{Path: path, Status: http.StatusInternalServerError}}); err != nil {
			t.Fatal(err)
		}
		if found, _, _, err := account.Find(t.Context(), record, values{"zone": sim.Zone, "subdomain": "test", "fieldtype": "A", "target": "203.0.113.2"}, time.Time{}); err == nil {
			t.Errorf("%s: %v", path, found)
		}
	}
	if !CanFind(record) {
		t.Error("it does not know that it can")
	}
}
