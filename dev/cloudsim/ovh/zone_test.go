package ovh_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"slipway/dev/cloudsim/ovh"
)

const records = "/domain/zone/" + ovh.Zone + "/record"

// An entry is a record as the API shows it.
type entry struct {
	ID                           int64
	Zone                         string
	FieldType, SubDomain, Target string
	TTL                          int
}

// published is what the name servers answer with.
func (c *cloud) published() (answers []string) {
	c.t.Helper()
	response, err := http.Get(c.url + "/nameserver/" + ovh.Zone)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	var entries []entry
	if err := json.NewDecoder(response.Body).Decode(&entries); err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		answers = append(answers, e.SubDomain+" "+e.FieldType+" "+e.Target)
	}
	return answers
}

// A record is made, changed and deleted, and the world sees each of it after a refresh
// only; it is there when the cloud is opened again.
func TestRecord(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	refresh := func() {
		t.Helper()
		if err := c.Post("/domain/zone/"+ovh.Zone+"/refresh", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	var made, other entry
	if err := c.Post(records, object{"fieldType": "A", "subDomain": "test", "target": "203.0.113.2", "ttl": 300}, &made); err != nil {
		t.Fatal(err)
	}
	if made != (entry{made.ID, ovh.Zone, "A", "test", "203.0.113.2", 300}) || made.ID < 1 {
		t.Errorf("%+v", made)
	}
	if err := c.Post(records, object{"fieldType": "AAAA", "subDomain": "test", "target": "2001:db8::2"}, &other); err != nil {
		t.Fatal(err)
	}
	if got := c.published(); len(got) > 0 {
		t.Errorf("before a refresh the world sees %q", got)
	}
	refresh()
	if got := c.published(); !slices.Equal(got, []string{"test A 203.0.113.2", "test AAAA 2001:db8::2"}) {
		t.Errorf("the world sees %q", got)
	}

	c = c.reopen(pace)
	own := records + "/" + strconv.FormatInt(made.ID, 10)
	// As provider ovh asks: without the subdomain where it is empty.
	if err := c.Put(own, object{"target": "203.0.113.9", "ttl": 600}, nil); err != nil {
		t.Fatal(err)
	}
	var now entry
	if err := c.Get(own, &now); err != nil || now != (entry{made.ID, ovh.Zone, "A", "test", "203.0.113.9", 600}) {
		t.Errorf("%+v, %v", now, err)
	}
	var ids []int64
	if err := c.Get(records+"?fieldType=AAAA&subDomain=test", &ids); err != nil || !slices.Equal(ids, []int64{other.ID}) {
		t.Errorf("%v, %v", ids, err)
	}
	if err := c.Delete(own, nil); err != nil {
		t.Fatal(err)
	}
	refused(t, c.Get(own, nil), http.StatusNotFound)
	refused(t, c.Put(own, object{"target": "203.0.113.9"}, nil), http.StatusNotFound)
	refused(t, c.Delete(own, nil), http.StatusNotFound)
	if got := c.published(); len(got) != 2 {
		t.Errorf("before a refresh the world sees %q", got)
	}
	refresh()
	if got := c.published(); !slices.Equal(got, []string{"test AAAA 2001:db8::2"}) {
		t.Errorf("the world sees %q", got)
	}
}

// What the API takes for no record, and a zone that the account does not have.
func TestRecordRefused(t *testing.T) {
	t.Parallel()
	c := fresh(t)
	for name, body := range map[string]object{
		"an unknown type":       {"fieldType": "B", "target": "203.0.113.2"},
		"no target":             {"fieldType": "TXT", "target": ""},
		"a name as an address":  {"fieldType": "A", "target": "www.example.org"},
		"IPv6 as IPv4":          {"fieldType": "A", "target": "2001:db8::2"},
		"IPv4 as IPv6":          {"fieldType": "AAAA", "target": "203.0.113.2"},
		"a TTL of a second":     {"fieldType": "A", "target": "203.0.113.2", "ttl": 1},
		"a subdomain of spaces": {"fieldType": "A", "target": "203.0.113.2", "subDomain": "a b"},
	} {
		if err := c.Post(records, body, nil); err == nil {
			t.Errorf("%s is taken", name)
		} else {
			refused(t, err, http.StatusBadRequest)
		}
	}
	var ids []int64
	if err := c.Get(records, &ids); err != nil || len(ids) > 0 {
		t.Errorf("%v, %v", ids, err)
	}
	for _, path := range []string{"", "/record"} {
		refused(t, c.Get("/domain/zone/example.net"+path, nil), http.StatusNotFound)
	}
	refused(t, c.Post("/domain/zone/example.net/record", object{"fieldType": "A", "target": "203.0.113.2"}, nil), http.StatusNotFound)
	refused(t, c.Post("/domain/zone/example.net/refresh", nil, nil), http.StatusNotFound)
	var names []string
	if err := c.Get("/domain/zone", &names); err != nil || !slices.Equal(names, []string{ovh.Zone}) {
		t.Errorf("%v, %v", names, err)
	}
	var shown struct {
		Name        string
		NameServers []string
	}
	if err := c.Get("/domain/zone/"+ovh.Zone, &shown); err != nil || shown.Name != ovh.Zone || len(shown.NameServers) != 2 {
		t.Errorf("%+v, %v", shown, err)
	}
}
