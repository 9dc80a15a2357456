package stage

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/dev/cloudsim/openstack"
	"slipway/internal/journal"
)

const network = "openstack_networking_network_v2"

// A deskCloud is a simulated OpenStack, as somebody beside OpenTofu uses it.
type deskCloud struct {
	t          *testing.T
	url, token string
}

// onCloud gives a desk the credentials of one.
func (d *desk) onCloud() *deskCloud {
	d.t.Helper()
	sim, err := openstack.Open(filepath.Join(d.t.TempDir(), "openstack.bolt"), "/-/openstack")
	must(d.t, err)
	sim.Pace = 10 * time.Millisecond
	server := httptest.NewServer(sim)
	d.t.Cleanup(func() {
		server.Close()
		must(d.t, sim.Close())
	})
	url := server.URL + "/-/openstack"
	d.credentials = map[string]string{
		"OS_AUTH_URL": url + "/identity/v3/", "OS_REGION_NAME": openstack.Region, "OS_TENANT_NAME": "slipway", "OS_USERNAME": "user", "OS_PASSWORD": "word",
	}
	login, err := http.Post(url+"/identity/v3/auth/tokens", "application/json",
		strings.NewReader(`{"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "user", "domain": {"id": "default"}, "password": "word"}}}}}`))
	must(d.t, err)
	defer login.Body.Close()
	return &deskCloud{d.t, url, login.Header.Get("X-Subject-Token")}
}

// make creates a resource, of which the body says what kind it is, and returns its ID.
func (c *deskCloud) make(path, body string) (id string) {
	c.t.Helper()
	request, err := http.NewRequest(http.MethodPost, c.url+path, strings.NewReader(body))
	must(c.t, err)
	request.Header.Set("X-Auth-Token", c.token)
	response, err := http.DefaultClient.Do(request)
	must(c.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	must(c.t, err)
	var made map[string]struct{ ID string }
	if err := json.Unmarshal(data, &made); err != nil || response.StatusCode >= 300 {
		c.t.Fatalf("%s: %s: %s", path, response.Status, data)
	}
	for _, one := range made {
		id = one.ID
	}
	return id
}

func (c *deskCloud) makeNetwork(name string) (id string) {
	c.t.Helper()
	return c.make("/network/v2.0/networks", `{"network": {"name": "`+name+`"}}`)
}

func inState(kind, id string) *tfjson.StateResource {
	return &tfjson.StateResource{Type: kind, AttributeValues: map[string]any{"id": id}}
}

// One create that nobody saw the end of is looked for: what is found once is the one, and
// what cannot be told stays open.
func TestSearchOne(t *testing.T) {
	const address = network + ".one"
	begun := journal.Entry{Address: address, Action: "create"}
	for name, c := range map[string]struct {
		networks int           // of that name in the cloud
		old      string        // its place in the state is taken by: the first network, or "gone"
		known    bool          // the first network is in the state, elsewhere
		seen     bool          // the create was seen to begin
		age      time.Duration // of the run
		kind     string        // of the resource; the network's without it
		blind    bool          // without credentials for the cloud
		found    bool
		open     bool
		says     string
	}{
		"made":                                 {networks: 1, seen: true, found: true, says: "was in flight (create), and the cloud has it"},
		"made, and not seen to begin":          {networks: 1, found: true},
		"not made":                             {seen: true, says: "the cloud has nothing that could be it: the next apply makes it"},
		"not made, nor seen to begin":          {},
		"made twice":                           {networks: 2, seen: true, open: true, says: "2 in the cloud could be it: "},
		"twice, and one is known":              {networks: 2, known: true, seen: true, found: true, says: "and the cloud has it"},
		"it is known already":                  {networks: 1, known: true, seen: true, says: "nothing that could be it"},
		"it is in the state":                   {networks: 1, old: "first", known: true, seen: true, says: "was in flight (create), and is in the state"},
		"older than the run":                   {networks: 1, seen: true, age: -time.Hour, says: "nothing that could be it"},
		"beside what it was to replace":        {networks: 2, old: "first", known: true, seen: true, open: true, says: "the cloud has the old one ("},
		"of an unknown type":                   {kind: "acme_thing", seen: true, open: true, says: "look whether it was made"},
		"of an unknown type, and planned only": {kind: "acme_thing"},
		"with no way to ask":                   {networks: 1, seen: true, blind: true, open: true, says: "look whether it was made"},
		"in the state, with no way to ask":     {old: "gone", seen: true, blind: true, open: true, says: "look whether it was made"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			sim := d.onCloud()
			if c.blind {
				d.credentials = nil
			}
			var ids []string
			for range c.networks {
				ids = append(ids, sim.makeNetwork("one"))
			}
			sim.makeNetwork("another")
			s := &search{
				root: d.root, account: journal.Account{Began: map[string]time.Time{address: time.Now().Add(-c.age)}},
				recorded: map[string]*tfjson.StateResource{}, known: map[string]bool{},
				wishes: map[string]wish{address: {kind: network, values: map[string]any{"name": "one"}}},
			}
			if c.kind != "" {
				s.wishes[address] = wish{kind: c.kind}
			}
			switch c.old {
			case "first":
				s.recorded[address] = inState(network, ids[0])
			case "gone":
				s.recorded[address] = inState(network, "gone")
			}
			if c.known {
				s.known[network+" "+ids[0]] = true
			}
			id, open, err := s.one(t.Context(), begun, c.seen)
			must(t, err)
			if (id != "") != c.found || open != c.open {
				t.Errorf("got %q, open: %v", id, open)
			}
			if c.found && id != ids[len(ids)-1] {
				t.Errorf("got %q of %q", id, ids)
			}
			text := d.report.masked(func(text string) string { return text })
			if !strings.Contains(text, c.says) || c.says == "" && text != "" {
				t.Errorf("it says %q", text)
			}
		})
	}
}

// Without the start of a run, that of the create has to do.
func TestSearchSince(t *testing.T) {
	d := newDesk(t)
	d.onCloud().makeNetwork("one")
	s := &search{root: d.root, recorded: map[string]*tfjson.StateResource{}, known: map[string]bool{}, wishes: map[string]wish{"a.b": {network, map[string]any{"name": "one"}}}}
	for at, want := range map[time.Time]bool{time.Now(): true, time.Now().Add(time.Hour): false} {
		id, _, err := s.one(t.Context(), journal.Entry{Address: "a.b", Time: at}, false)
		must(t, err)
		if (id != "") != want {
			t.Errorf("from %s on: %q", at, id)
		}
	}
}

// What is in flight of another kind than a create is named, and needs no look.
func TestSearchNothing(t *testing.T) {
	d := newDesk(t)
	found, unknown, err := d.search(t.Context(), journal.Account{InFlight: []journal.Entry{{Address: "a.b", Action: "update"}}, Planned: []journal.Entry{{Address: "acme_thing.one"}}})
	if err != nil || found != nil || unknown != nil {
		t.Errorf("%v, %v, %v", found, unknown, err)
	}
	if text := d.report.masked(func(text string) string { return text }); !strings.Contains(text, "a.b was in flight (update): the next plan says what is left to do") {
		t.Errorf("it says %q", text)
	}
}
