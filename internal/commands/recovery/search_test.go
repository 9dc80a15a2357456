package recovery

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/clouds"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/testkit"
)

// An interrupted create is searched for: a single match is the created object, and an ambiguous
// result stays open.
func TestSearchOne(t *testing.T) {
	const address = testkit.Network + ".one"
	begun := journal.Entry{Address: address, Action: "create"}
	for name, c := range map[string]struct {
		networks   int           // of that name in the cloud
		old        string        // its place in the state is taken by: the first network, or "gone"
		known      bool          // the first network is in the state, elsewhere
		seen       bool          // the journal has the start of the create
		age        time.Duration // of the run
		kind       string        // of the resource; the network's without it
		blind      bool          // without credentials for the cloud
		replaced   bool          // the run was to replace the old one
		nameless   bool          // the plan does not know its name
		everything bool          // each network of the cloud is in the state
		found      bool
		open       bool
		says       string
	}{
		"made":                                 {networks: 1, seen: true, found: true},
		"made, start not recorded":             {networks: 1, found: true},
		"not made":                             {seen: true, says: "nothing in the cloud matches it: the next apply creates it"},
		"not made, start not recorded":         {},
		"made twice":                           {networks: 2, seen: true, open: true, says: "2 objects in the cloud match it: "},
		"twice, and one is known":              {networks: 2, known: true, seen: true, found: true},
		"it is known already":                  {networks: 1, known: true, seen: true, says: "nothing in the cloud matches it"},
		"it is in the state":                   {networks: 1, old: "first", known: true, seen: true, says: "was in flight (create), and is in the state"},
		"older than the run":                   {networks: 1, seen: true, age: -time.Hour, says: "nothing in the cloud matches it"},
		"beside what it was to replace":        {networks: 2, old: "first", known: true, seen: true, open: true, says: "the cloud has the old object ("},
		"of an unknown type":                   {kind: "acme_thing", seen: true, open: true, says: "check whether it was created"},
		"with no way to ask, and planned only": {networks: 1, blind: true, open: true, says: "the cloud could not be asked: check whether it was created"},
		"with no way to ask":                   {networks: 1, seen: true, blind: true, open: true, says: "check whether it was created"},
		"in the state, with no way to ask":     {old: "gone", seen: true, blind: true, open: true, says: "check whether it was created"},
		"the same, and planned only":           {old: "gone", blind: true},
		"the same, and to be replaced":         {old: "gone", blind: true, replaced: true, open: true, says: "the cloud could not be asked: check whether it was created"},
		"of a name not known":                  {networks: 1, nameless: true, open: true, says: "in the cloud may be it: not all of its settings are known before an apply"},
		"of a name not known, and known":       {networks: 1, nameless: true, known: true, everything: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			sim := d.OnCloud()
			if c.blind {
				d.Credentials = nil
			}
			var ids []string
			for range c.networks {
				ids = append(ids, sim.MakeNetwork("one"))
			}
			sim.MakeNetwork("another")
			s := &search{
				Layer: d.Layer, clouds: clouds.Of(d.Run), outcome: journal.Outcome{Began: map[string]time.Time{address: time.Now().Add(-c.age)}},
				begun:    map[string]bool{address: c.seen},
				recorded: map[string]*tfjson.StateResource{}, known: map[string]bool{},
				wishes: map[string]wish{address: {kind: testkit.Network, values: map[string]any{"name": "one"}}},
			}
			if c.kind != "" {
				s.wishes[address] = wish{kind: c.kind}
			}
			if c.nameless {
				s.wishes[address] = wish{kind: testkit.Network}
			}
			if c.replaced {
				s.outcome.Replaced = []string{address}
			}
			switch c.old {
			case "first":
				s.recorded[address] = testkit.Recorded(testkit.Network, ids[0])
			case "gone":
				s.recorded[address] = testkit.Recorded(testkit.Network, "gone")
			}
			if c.known {
				s.known[testkit.Network+" "+ids[0]] = true
			}
			if c.everything {
				all, _, _, err := findInClouds(t.Context(), s.clouds, wish{kind: testkit.Network}, time.Time{})
				must.Do(t, err)
				for _, id := range all {
					s.known[testkit.Network+" "+id] = true
				}
			}
			id, open, note, err := s.one(t.Context(), begun)
			must.Do(t, err)
			if (id != "") != c.found || open != c.open {
				t.Errorf("got %q, open: %v", id, open)
			}
			if c.found && id != ids[len(ids)-1] {
				t.Errorf("got %q of %q", id, ids)
			}
			if !strings.Contains(note, c.says) || c.says == "" && note != "" {
				t.Errorf("it says %q", note)
			}
		})
	}
}

const database = "ovh_cloud_project_database_database"

func inService(kind string) wish {
	return wish{kind, map[string]any{"service_name": "p", "engine": "postgresql", "cluster_id": "old", "name": "app"}}
}

// An object whose age OVH does not report may be the created one or older: that stays open, unless
// another one is young enough.
func TestSearchUndated(t *testing.T) {
	for kind, c := range map[string]struct {
		id   string
		open bool
		says string
	}{
		database:     {open: true, says: "was to be created, and app in the cloud matches it but may be older: the cloud does not report its age"},
		databaseUser: {id: "dated"},
	} {
		d := testkit.New(t)
		d.WithOVH()
		s := newSearch(d.Layer, journal.Outcome{})
		s.in(nil)
		s.wishes = map[string]wish{"a.b": inService(kind)}
		id, open, note, err := s.one(t.Context(), journal.Entry{Address: "a.b", Action: "create", Time: time.Now()})
		if err != nil || id != c.id || open != c.open || note != c.says {
			t.Errorf("%s: %q, %v, %q, %v", kind, id, open, note, err)
		}
	}
}

// Each cloud is asked for its own kinds, and only with its own credentials. One that cannot be
// asked is an error only where it is the one.
func TestFindAsks(t *testing.T) {
	openstack := func(d *testkit.Desk) { d.OnCloud().MakeNetwork("one") }
	ovh := func(d *testkit.Desk) { d.WithOVH() }
	broken := func(d *testkit.Desk) {
		d.WithOVH()
		d.Credentials["OVH_ENDPOINT"] = "ovh-xx"
	}
	net := wish{testkit.Network, map[string]any{"name": "one"}}
	for name, c := range map[string]struct {
		clouds             []func(d *testkit.Desk)
		w                  wish
		ids, undated       int
		looked, unanswered bool
	}{
		"OpenStack":                        {clouds: []func(d *testkit.Desk){openstack}, w: net, ids: 1, looked: true},
		"OVH":                              {clouds: []func(d *testkit.Desk){ovh}, w: inService(database), undated: 1, looked: true},
		"OVH, beside OpenStack":            {clouds: []func(d *testkit.Desk){openstack, ovh}, w: inService(database), undated: 1, looked: true},
		"OpenStack, with OVH's":            {clouds: []func(d *testkit.Desk){ovh}, w: net},
		"OVH, with OpenStack's":            {clouds: []func(d *testkit.Desk){openstack}, w: inService(database)},
		"neither":                          {clouds: []func(d *testkit.Desk){openstack, broken}, w: wish{kind: "acme_thing"}},
		"a broken OVH":                     {clouds: []func(d *testkit.Desk){broken}, w: inService(database), unanswered: true},
		"OpenStack, beside a broken OVH":   {clouds: []func(d *testkit.Desk){openstack, broken}, w: net, ids: 1, looked: true},
		"an OpenStack that takes no login": {clouds: []func(d *testkit.Desk){openstack, func(d *testkit.Desk) { d.Credentials["OS_AUTH_URL"] += "x/" }}, w: net, unanswered: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			for _, with := range c.clouds {
				with(d)
			}
			ids, undated, looked, err := findInClouds(t.Context(), clouds.Of(d.Run), c.w, time.Time{})
			if len(ids) != c.ids || len(undated) != c.undated || looked != c.looked || (err != nil) != c.unanswered {
				t.Errorf("%q, %q, %v, %v", ids, undated, looked, err)
			}
			s := newSearch(d.Layer, journal.Outcome{})
			s.wishes = map[string]wish{"a.b": c.w}
			if id, open, _, err := s.one(t.Context(), journal.Entry{Address: "a.b"}); c.unanswered && (err == nil || id != "" || open) {
				t.Errorf("%q, %v, %v", id, open, err)
			}
		})
	}
}

// A replacement is only assumed if the old object could be removed from the state.
func TestSearchReplaces(t *testing.T) {
	testkit.WithoutTofu(t)
	d := testkit.New(t)
	d.OnCloud().MakeNetwork("one")
	s := newSearch(d.Layer, journal.Outcome{})
	s.in(map[string]*tfjson.StateResource{"a.b": testkit.Recorded(testkit.Network, "gone")})
	s.wishes = map[string]wish{"a.b": {testkit.Network, map[string]any{"name": "one"}}}
	id, open, _, err := s.one(t.Context(), journal.Entry{Address: "a.b", Time: time.Now()})
	must.NotStarted(t, err, "state")
	if id != "" || open {
		t.Errorf("%q, %v", id, open)
	}
}

// Without the start of a run, that of the create has to do.
func TestSearchSince(t *testing.T) {
	d := testkit.New(t)
	d.OnCloud().MakeNetwork("one")
	s := &search{Layer: d.Layer, clouds: clouds.Of(d.Run), recorded: map[string]*tfjson.StateResource{}, known: map[string]bool{}, wishes: map[string]wish{"a.b": {testkit.Network, map[string]any{"name": "one"}}}}
	for at, want := range map[time.Time]bool{time.Now(): true, time.Now().Add(time.Hour): false} {
		id, _, _, err := s.one(t.Context(), journal.Entry{Address: "a.b", Time: at})
		must.Do(t, err)
		if (id != "") != want {
			t.Errorf("from %s on: %q", at, id)
		}
	}
}

// What is in flight of another kind than a create is named, and needs no look.
func TestSearchNothing(t *testing.T) {
	d := testkit.New(t)
	found, left, unknown, err := searchAll(t.Context(), d.Layer, journal.Outcome{InFlight: []journal.Entry{{Address: "a.b", Action: "update"}}, Planned: []journal.Entry{{Address: "acme_thing.one"}}})
	if err != nil || found != nil || left != nil || unknown != nil {
		t.Errorf("%v, %v, %v, %v", found, left, unknown, err)
	}
	d.Says("a.b was in flight (update): the next plan shows what is left to do")
}

// A search is for creates: those that a cloud can be asked for, begun or only planned, and of
// the others those that began.
func TestNewSearch(t *testing.T) {
	account := journal.Outcome{
		InFlight: []journal.Entry{{Address: testkit.Network + ".begun", Action: "create"}, {Address: testkit.Network + ".old", Action: "delete"}, {Address: "acme_thing.begun", Action: "create"}},
		Planned:  []journal.Entry{{Address: testkit.Network + ".planned", Action: "create"}, {Address: "acme_thing.planned", Action: "create"}},
	}
	d := testkit.New(t)
	s := newSearch(d.Layer, account)
	if got := addresses(s.creates); !slices.Equal(got, []string{testkit.Network + ".begun", testkit.Network + ".planned"}) {
		t.Errorf("it looks for %q", got)
	}
	if got := addresses(s.unfindable); !slices.Equal(got, []string{"acme_thing.begun"}) {
		t.Errorf("it cannot look for %q", got)
	}
	if len(s.begun) != 1 || !s.begun[testkit.Network+".begun"] {
		t.Errorf("begun: %v", s.begun)
	}
	d.Says("test: " + testkit.Network + ".old was in flight (delete): the next plan shows what is left to do\n")
}

// What no cloud can be asked for was made if it is in the state, unless something was there
// before.
func TestNotFindable(t *testing.T) {
	d := testkit.New(t)
	var account journal.Outcome
	for _, name := range []string{"made", "replaced", "open"} {
		account.InFlight = append(account.InFlight, journal.Entry{Address: "acme_thing." + name, Action: "create"})
	}
	account.Replaced = []string{"acme_thing.replaced"}
	s := newSearch(d.Layer, account)
	s.in(map[string]*tfjson.StateResource{"acme_thing.made": testkit.Recorded("acme_thing", "1"), "acme_thing.replaced": testkit.Recorded("acme_thing", "2")})
	if unknown := s.notFindable(); !slices.Equal(unknown, []string{"acme_thing.replaced", "acme_thing.open"}) {
		t.Errorf("unknown: %q", unknown)
	}
	for name, says := range map[string]string{"made": ", and is in the state", "replaced": ": check whether it was created", "open": ": check whether it was created"} {
		d.Says("test: acme_thing." + name + " was in flight (create)" + says + "\n")
	}
}

// Of all creates, those that the cloud has are found, and ambiguous ones stay unknown. Objects that
// are elsewhere in the state are neither.
func TestSearchAll(t *testing.T) {
	d := testkit.New(t)
	sim := d.OnCloud()
	one, known := sim.MakeNetwork("one"), sim.MakeNetwork("known")
	sim.MakeNetwork("twice")
	sim.MakeNetwork("twice")
	var account journal.Outcome
	wishes := map[string]wish{}
	for _, name := range []string{"one", "twice", "none", "known"} {
		address := testkit.Network + "." + name
		account.InFlight = append(account.InFlight, journal.Entry{Address: address, Action: "create", Time: time.Now()})
		wishes[address] = wish{testkit.Network, map[string]any{"name": name}}
	}
	s := newSearch(d.Layer, account)
	s.in(map[string]*tfjson.StateResource{testkit.Network + ".elsewhere": testkit.Recorded(testkit.Network, known)})
	s.wishes = wishes
	r, err := s.all(t.Context())
	must.Do(t, err)
	if len(r.found) != 1 || r.found[0] != (journal.Entry{Address: testkit.Network + ".one", Action: "create", IDKey: "id", ID: one}) {
		t.Errorf("found: %+v", r.found)
	}
	if !slices.Equal(r.open, []string{testkit.Network + ".twice"}) {
		t.Errorf("unknown: %q", r.open)
	}
	if len(r.notes) != 3 || !strings.HasPrefix(r.notes[0], testkit.Network+".twice was to be created, and 2 objects") {
		t.Errorf("notes: %q", r.notes)
	}
	d.Says(testkit.Network + ".one was in flight (create), and it exists in the cloud\n")
	s.clouds, d.Credentials["OS_AUTH_URL"] = clouds.Of(d.Run), "http://127.0.0.1:9/"
	if r, err := s.all(t.Context()); err == nil || r.found != nil || r.open != nil {
		t.Errorf("without a cloud: %+v", r)
	}
}

// Whatever an import does not restore completely is recreated: a user without its password, and a
// security group whose create was interrupted.
func TestNotWhole(t *testing.T) {
	user := testkit.Recorded(databaseUser, "1")
	whole := testkit.Recorded(databaseUser, "2")
	whole.AttributeValues["password"] = "word"
	recorded := map[string]*tfjson.StateResource{"a.user": user, "a.whole": whole, "a.group": testkit.Recorded(securityGroup, "3"), "a.net": testkit.Recorded(testkit.Network, "4")}
	var entries []journal.Entry
	for _, address := range []string{"a.user", "a.whole", "a.group", "a.net", "a.none"} {
		entries = append(entries, journal.Entry{Address: address, Action: "create"})
	}
	const password, part = "its password is not known", "it may be incomplete"
	updates := slices.Clone(entries)
	for i := range updates {
		updates[i].Action = "update"
	}
	for name, c := range map[string]struct {
		made, unseen []journal.Entry
		want         map[string]string
	}{
		"nothing":          {},
		"made":             {made: entries, want: map[string]string{"a.user": password}},
		"interrupted":      {unseen: entries, want: map[string]string{"a.user": password, "a.group": part}},
		"updates, not too": {unseen: updates, want: map[string]string{"a.user": password}},
	} {
		if got := incomplete(recorded, c.made, c.unseen); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
