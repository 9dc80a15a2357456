package ovh_test

import (
	"net/http"
	"slices"
	"testing"
)

// A cluster comes up by and by, is changed, and goes away.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	made := c.post(clusters, wish())
	path := clusters + "/" + made.ID
	if made.Status != "PENDING" || made.Version != "17" {
		t.Errorf("%+v", made)
	}
	c.await(path, "READY")
	k := c.get(path)
	if k.Description != "of the tests" || k.Plan != "essential" || k.Flavor != "db1-4" || k.Region != "SIM" || k.NodeNumber != 1 || k.NetworkType != "public" ||
		k.Disk.Size != 80 || !slices.Equal(k.Backups.Regions, []string{"SIM"}) || k.Backups.Time == "" || k.MaintenanceTime == "" ||
		len(k.IPRestrictions) != 1 || k.IPRestrictions[0].IP != "203.0.113.0/24" || k.IPRestrictions[0].Status != "READY" ||
		len(k.Endpoints) != 1 || !k.Endpoints[0].Ssl || k.Endpoints[0].Scheme != "postgres" || k.Endpoints[0].SslMode != "require" {
		t.Errorf("%+v", k)
	}
	if ids := c.ids(clusters); !slices.Equal(ids, []string{made.ID}) {
		t.Errorf("%v", ids)
	}
	if ids := c.ids("/cloud/project/slipway/database/service"); !slices.Equal(ids, []string{made.ID}) {
		t.Errorf("%v", ids)
	}
	if ids := c.ids("/cloud/project/another/database/postgresql"); len(ids) != 0 {
		t.Errorf("%v", ids)
	}
	refused(t, c.Get("/cloud/project/another/database/postgresql/"+made.ID, nil), http.StatusNotFound)
	nodes := c.ids(path + "/node")
	if len(nodes) != 1 || c.get(path+"/node/"+nodes[0]).Region != "SIM" {
		t.Errorf("%v", nodes)
	}
	refused(t, c.Get(path+"/node/x", nil), http.StatusNotFound)
	var certificates struct{ CA string }
	if err := c.Get(path+"/certificates", &certificates); err != nil || certificates.CA == "" {
		t.Errorf("%v, %v", certificates, err)
	}

	if err := c.Put(path, object{"flavor": "db1-7", "description": "changed", "maintenanceTime": "04:00:00", "backups": object{"time": "04:00:00"}}, nil); err != nil {
		t.Fatal(err)
	}
	c.await(path, "READY")
	if k = c.get(path); k.Flavor != "db1-7" || k.Description != "changed" || k.Disk.Size != 160 || k.MaintenanceTime != "04:00:00" || k.Backups.Time != "04:00:00" || len(k.IPRestrictions) != 1 {
		t.Errorf("%+v", k)
	}
	refused(t, c.Put(path, object{"version": "16"}, nil), http.StatusBadRequest)

	if err := c.Delete(path, nil); err != nil {
		t.Fatal(err)
	}
	c.gone(path)
	refused(t, c.Delete(path, nil), http.StatusNotFound)
}

// What cannot be had.
func TestClusterRefused(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	for name, change := range map[string]func(object){
		"version":       func(o object) { o["version"] = "12" },
		"plan":          func(o object) { o["plan"] = "huge" },
		"nodes":         func(o object) { o["plan"] = "business" },
		"flavor":        func(o object) { o["nodesPattern"] = object{"flavor": "x", "number": 1, "region": "SIM"} },
		"region":        func(o object) { o["nodesPattern"] = object{"flavor": "db1-4", "number": 1} },
		"disk":          func(o object) { o["disk"] = object{"size": 1} },
		"network":       func(o object) { o["networkId"] = "x" },
		"time":          func(o object) { o["backups"] = object{"time": "noon"} },
		"restriction":   func(o object) { o["ipRestrictions"] = []object{{"ip": "203.0.113.7/24"}} },
		"restriction 2": func(o object) { o["ipRestrictions"] = []object{{"ip": "203.0.113.7"}, {"ip": "203.0.113.7/32"}} },
	} {
		if err := c.Post(clusters, wish(change), nil); err == nil {
			t.Errorf("%s: it was taken", name)
		} else {
			refused(t, err, http.StatusBadRequest)
		}
	}
	if ids := c.ids(clusters); len(ids) != 0 {
		t.Errorf("%v", ids)
	}
}

// Version 18 is there, but not TimescaleDB with it.
func TestTimescale(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	advanced := object{"timescaledb.max_background_workers": "8", "pg_stat_statements.track": "all"}
	path := c.cluster()
	if err := c.Put(path+"/advancedConfiguration", advanced, nil); err != nil {
		t.Fatal(err)
	}
	var kept map[string]string
	if err := c.Get(path+"/advancedConfiguration", &kept); err != nil || len(kept) != 2 {
		t.Errorf("%v, %v", kept, err)
	}
	refused(t, c.Put(path, object{"version": "18"}, nil), http.StatusBadRequest)
	if err := c.Put(path+"/advancedConfiguration", object{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Put(path, object{"version": "18"}, nil); err != nil {
		t.Fatal(err)
	}
	c.await(path, "READY")
	refused(t, c.Put(path+"/advancedConfiguration", advanced, nil), http.StatusBadRequest)
}

// What can be had.
func TestCatalog(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	var capabilities struct {
		Engines []struct{ Versions []string }
		Flavors []struct{ Name string }
		Plans   []struct{ Name string }
	}
	if err := c.Get("/cloud/project/slipway/database/capabilities", &capabilities); err != nil {
		t.Fatal(err)
	}
	if len(capabilities.Engines) != 1 || !slices.Equal(capabilities.Engines[0].Versions, []string{"13", "14", "15", "16", "17", "18"}) || len(capabilities.Flavors) == 0 || len(capabilities.Plans) == 0 {
		t.Errorf("%+v", capabilities)
	}
	var availability []struct{ Engine, Version, Plan, Flavor string }
	if err := c.Get("/cloud/project/slipway/database/availability", &availability); err != nil || len(availability) == 0 || availability[0].Engine != "postgresql" {
		t.Errorf("%v", err)
	}
}

// A cluster that was being made when the cloud ended is there when it is back, and
// becomes READY at its time.
func TestDurable(t *testing.T) {
	t.Parallel()
	c := fresh(t).reopen(forever)
	later := clusters + "/" + c.post(clusters, wish()).ID
	c = c.reopen(pace)
	soon := clusters + "/" + c.post(clusters, wish()).ID
	c = c.reopen(forever) // what began before keeps its own pace
	c.await(soon, "READY")
	if k := c.get(later); k.Status != "PENDING" || k.Version != "17" {
		t.Errorf("%+v", k)
	}
}

// What a cluster and its contents are while something goes on, and what they take
// then.
func TestOnTheWay(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	path := c.cluster()
	app := path + "/user/" + c.post(path+"/user", object{"name": "app"}).ID
	c.await(app, "READY")
	c = c.reopen(forever)

	young := path + "/user/" + c.post(path+"/user", object{"name": "young"}).ID
	if u := c.get(young); u.Status != "PENDING" {
		t.Errorf("%+v", u)
	}
	refused(t, c.Delete(young, nil), http.StatusConflict)
	if err := c.Delete(app, nil); err != nil || c.get(app).Status != "DELETING" {
		t.Errorf("%v", err)
	}
	made := c.post(path+"/database", object{"name": "app"})
	refused(t, c.Get(path+"/database/"+made.ID, nil), http.StatusNotFound)
	if ids := c.ids(path + "/database"); len(ids) != 1 {
		t.Errorf("%v", ids)
	}
	c.post(path+"/ipRestriction", object{"ip": "198.51.100.7"})
	refused(t, c.Post(path+"/ipRestriction", object{"ip": "198.51.100.8/32"}, nil), http.StatusConflict)

	if err := c.Put(path, object{"description": "changed"}, nil); err != nil || c.get(path).Status != "UPDATING" {
		t.Errorf("%v", err)
	}
	refused(t, c.Put(path, object{}, nil), http.StatusConflict)
	refused(t, c.Post(path+"/user", object{"name": "late"}, nil), http.StatusConflict)
	for range 2 {
		if err := c.Delete(path, nil); err != nil || c.get(path).Status != "DELETING" {
			t.Errorf("%v", err)
		}
	}
}
