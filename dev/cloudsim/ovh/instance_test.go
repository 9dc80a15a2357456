package ovh_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"slipway/dev/cloudsim/ovh"
)

// only returns the only cluster as a player sees it.
func (c *cloud) only() ovh.Instance {
	c.t.Helper()
	list, err := c.sim.Instances()
	if err != nil || len(list) != 1 {
		c.t.Fatalf("%d clusters, %v", len(list), err)
	}
	return list[0]
}

// A player sees what the API was asked for at once, and no longer what is being deleted. No
// password is stored.
func TestInstance(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	path := c.cluster()
	slow := c.reopen(forever)
	made := slow.post(path+"/user", object{"name": "app", "roles": []string{"replication"}})
	slow.post(path+"/database", object{"name": "app"})
	slow.post(path+"/ipRestriction", object{"ip": "198.51.100.7"})
	i := slow.only()
	if !i.Available() || i.Name != "of the tests" || i.Version != "17" || i.Port != 20184 || !strings.HasPrefix(i.Domain, "postgresql-") ||
		len(i.Databases) != 2 || i.Databases[1].Name != "app" || len(i.Sources) != 2 || i.Sources[1] != "198.51.100.7/32" {
		t.Errorf("%+v", i)
	}
	if len(i.Users) != 2 || i.Users[0].Name != "avnadmin" || !i.Users[0].Administrator || i.Users[0].Verifier != "" ||
		i.Users[1].Name != "app" || !i.Users[1].Replication || i.Users[1].Administrator || !strings.HasPrefix(i.Users[1].Verifier, "SCRAM-SHA-256$4096:") {
		t.Errorf("%+v", i.Users)
	}
	slow.close()
	stored, err := os.ReadFile(slow.path)
	if err != nil || strings.Contains(string(stored), made.Password) {
		t.Errorf("the password is stored, %v", err)
	}

	c = open(t, slow.path, pace)
	was := i.Users[1].Verifier
	// What the other pace has begun ends in an hour.
	if err := c.sim.Repair(); err != nil {
		t.Fatal(err)
	}
	admin := c.ids(path + "/user")[0]
	c.post(path+"/user/"+admin+"/credentials/reset", nil)
	if i := c.only(); i.Users[0].Verifier == "" || i.Users[1].Verifier != was {
		t.Errorf("after a reset: %+v", i.Users)
	}
	slow = c.reopen(forever)
	if err := slow.Delete(path, nil); err != nil {
		t.Fatal(err)
	}
	if slow.only().Available() {
		t.Error("it is available while it is being deleted")
	}
}

// The names of what PostgreSQL has for itself are not to be had.
func TestReserved(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	path := c.cluster()
	for name, kind := range map[string]string{"postgres": "/user", "pg_monitor": "/user", "template1": "/database"} {
		if err := c.Post(path+kind, object{"name": name}, nil); err == nil {
			t.Errorf("there is a %s%s", name, kind)
		}
	}
}

// The certificate that the API returns is that of the authority of the server's own, for its name;
// each cluster has its own authority, and keeps it.
func TestCertificates(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	path := c.cluster()
	ca := func() string {
		t.Helper()
		var answer struct{ CA string }
		if err := c.Get(path+"/certificates", &answer); err != nil {
			t.Fatal(err)
		}
		return answer.CA
	}
	i, first := c.only(), ca()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(first)) {
		t.Fatalf("not a certificate: %s", first)
	}
	pair, err := tls.X509KeyPair([]byte(i.Certificates.Server), []byte(i.Certificates.Key))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: i.Domain, CurrentTime: time.Now().Add(24 * time.Hour)}); err != nil {
		t.Error(err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "example.org"}); err == nil {
		t.Error("it holds for another name")
	}
	shown, err := json.Marshal(c.getAll(path))
	if err != nil || strings.Contains(string(shown), "PRIVATE KEY") {
		t.Errorf("the API shows the key, %v", err)
	}
	if c = c.reopen(pace); ca() != first {
		t.Error("it has another authority after it was opened again")
	}
	path = c.cluster()
	if ca() == first {
		t.Error("two clusters have one authority")
	}
}

// getAll is get, with all that the API shows.
func (c *cloud) getAll(path string) (found map[string]any) {
	c.t.Helper()
	if err := c.Get(path, &found); err != nil {
		c.t.Fatal(err)
	}
	return found
}

// A player sees the records of the last refresh.
func TestPublished(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	if err := c.Post(records, object{"fieldType": "A", "subDomain": "test", "target": "203.0.113.2"}, nil); err != nil {
		t.Fatal(err)
	}
	if list, err := c.sim.Published(); err != nil || len(list) > 0 {
		t.Errorf("before a refresh: %+v, %v", list, err)
	}
	if err := c.Post("/domain/zone/"+ovh.Zone+"/refresh", nil, nil); err != nil {
		t.Fatal(err)
	}
	if list, err := c.sim.Published(); err != nil || len(list) != 1 || list[0] != (ovh.Record{SubDomain: "test", Type: "A", Target: "203.0.113.2"}) {
		t.Errorf("%+v, %v", list, err)
	}
}
