package recovery

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-json"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/layer"
	"slipway/internal/must"
	"slipway/internal/run"
	"slipway/internal/secrets"
	"slipway/internal/testkit"
)

// If tofu cannot be started, nothing is known, imported, forgotten or tainted.
func TestNotStarted(t *testing.T) {
	testkit.WithoutTofu(t)
	entries := func(addresses ...string) (list []journal.Entry) {
		for _, address := range addresses {
			list = append(list, journal.Entry{Address: address, Action: "create", IDKey: "id", ID: "1"})
		}
		return list
	}
	composed := entries("ovh_cloud_project_database.db")
	for name, c := range map[string]struct {
		do      func(d *testkit.Desk) error
		command string // empty: there is nothing to start it for
	}{
		"what is recorded": {func(d *testkit.Desk) error { _, err := d.Recorded(t.Context()); return err }, "show"},
		"forget":           {func(d *testkit.Desk) error { return forget(t.Context(), d.Layer, "a.b") }, "state"},
		"forget nothing":   {func(d *testkit.Desk) error { return forget(t.Context(), d.Layer) }, ""},
		"wishes": {func(d *testkit.Desk) error {
			_, _, err := wishesOf(t.Context(), d.Layer, entries("a.b"), nil)
			return err
		}, "plan"},
		"no wishes":            {func(d *testkit.Desk) error { _, _, err := wishesOf(t.Context(), d.Layer, nil, nil); return err }, ""},
		"import one":           {func(d *testkit.Desk) error { _, err := importOne(t.Context(), d.Layer, "a.b", "1"); return err }, "import"},
		"import by blocks":     {func(d *testkit.Desk) error { _, err := importAll(t.Context(), d.Layer, entries("a.b")); return err }, "import"},
		"import by longer ids": {func(d *testkit.Desk) error { _, err := importAll(t.Context(), d.Layer, composed); return err }, "plan"},
		"import nothing":       {func(d *testkit.Desk) error { _, err := importAll(t.Context(), d.Layer, nil); return err }, ""},
		"recreate a user": {func(d *testkit.Desk) error {
			return taintIncomplete(t.Context(), d.Layer, entries(databaseUser+".u"), nil)
		}, "show"},
		"recreate a group": {func(d *testkit.Desk) error {
			return taintIncomplete(t.Context(), d.Layer, nil, entries(securityGroup+".g"))
		}, "show"},
		"nothing to recreate": {func(d *testkit.Desk) error {
			return taintIncomplete(t.Context(), d.Layer, entries("a.b"), entries(testkit.Network+".n"))
		}, ""},
		"mark": {func(d *testkit.Desk) error {
			return taint(t.Context(), d.Layer, map[string]string{"a.b": "it is incomplete"})
		}, "taint"},
		"mark nothing": {func(d *testkit.Desk) error { return taint(t.Context(), d.Layer, nil) }, ""},
		"a search": {func(d *testkit.Desk) error {
			_, _, _, err := searchAll(t.Context(), d.Layer, journal.Outcome{InFlight: entries("a.b")})
			return err
		}, "show"},
		"what was made": {func(d *testkit.Desk) error {
			_, err := reconcile(t.Context(), d.Layer, journal.Outcome{Created: entries("a.b")})
			return err
		}, "show"},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.Dir = d.Path("repository")
			must.Do(t, os.MkdirAll(d.Dir, 0o700))
			if err := c.do(d); c.command == "" {
				must.Do(t, err)
			} else {
				must.NotStarted(t, err, c.command)
			}
			if _, err := os.Stat(filepath.Join(d.Dir, "slipway_recover.tf")); err == nil {
				t.Error("blocks of an import are left in the code")
			}
			if text := d.Text(); text != "" {
				t.Errorf("it says %q", text)
			}
		})
	}
}

// What a person has looked for is accounted for; what is left is named, with the command
// that says so.
func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		open []string
		seen string
		want string // of the error; empty: none
	}{
		"nothing is open":    {nil, "", ""},
		"one":                {[]string{"a.b"}, "", "cannot account for 1 of the resources that were or may have been created: a.b."},
		"seen":               {[]string{"a.b"}, "a.b", ""},
		"one of two seen":    {[]string{"c.d", "a.b"}, "a.b", "have been created: c.d."},
		"another seen":       {[]string{"a.b"}, "c.d", "have been created: a.b."},
		"a key with a comma": {[]string{`a.b["x,y"]`}, `a.b["x,y"]`, ""},
		"an open quote":      {[]string{"a.b"}, `a.b["x`, "--seen has an unclosed quote"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &layer.Layer{Run: &run.Run{Options: run.Options{Env: "test"}, Environment: &environment.Environment{}}, Name: "test"}
			err := settle(l, c.open, c.seen)
			if text := l.Report.Masked(func(text string) string { return text }); strings.Contains(text, "test: "+c.seen+" was confirmed with --seen\n") != (c.seen != "" && slices.Contains(c.open, c.seen)) {
				t.Errorf("it says %q", text)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
	l := &layer.Layer{Run: &run.Run{Options: run.Options{Env: "test"}, Environment: &environment.Environment{}}, Name: "test"}
	must.Hint(t, settle(l, []string{"c.d", "a.b", "c.d"}, "a.b"), "dagger call recover --env=test --seen='a.b,c.d'   # when you have looked")
}

// lose has a state that an earlier run could not write.
func lose(d *testkit.Desk) {
	d.T.Helper()
	sealed, err := secrets.Envelope([]byte(testkit.LostText), d.Recipients)
	must.Do(d.T, err)
	must.Do(d.T, d.Store.Write(d.T.Context(), "recovery/"+d.Key+"/lost.age", sealed))
}

// recover puts lost states back under its lock, takes the locks of dead runs away and litter
// with them. What it cannot account for keeps its journal.
func TestRecover(t *testing.T) {
	testkit.WithoutTofu(t)
	litter := func(d *testkit.Desk, id string) { must.Do(t, d.Other(journal.Header{ID: id}).Finish(t.Context())) }
	for name, c := range map[string]struct {
		before  func(d *testkit.Desk)
		message string // of a refusal
		starts  bool   // tofu is needed
		says    []string
		lock    string // afterwards
		left    string // the runs that have a journal then
		written bool   // the lost state
	}{
		"nothing": {before: func(*testkit.Desk) {}, says: []string{"test: nothing was interrupted\n"}},
		"a lost state": {before: func(d *testkit.Desk) { lose(d) }, written: true,
			says: []string{"lost.age as the state, serial 8\n"}},
		"litter":           {before: func(d *testkit.Desk) { litter(d, "one"); litter(d, "two") }},
		"a lock of nobody": {before: func(d *testkit.Desk) { d.LockAs("laptop"); lose(d) }, message: "the lock of test is in no journal", lock: "laptop"},
		"an active run":    {before: func(d *testkit.Desk) { d.Other(journal.Header{ID: "you", Stage: "apply"}); lose(d) }, message: "run you (apply, started", left: "you"},
		"a state that is damaged": {before: func(d *testkit.Desk) {
			must.Do(t, d.Store.Write(t.Context(), "recovery/"+d.Key+"/lost.age", []byte("x")))
			litter(d, "one")
		}, message: "lost.age cannot be decrypted", left: "one"},
		"an interrupted run": {before: func(d *testkit.Desk) {
			d.Interrupted(journal.Header{ID: "dead", Stage: "apply", Lock: "of-dead"})
			d.LockAs("of-dead")
			lose(d)
			litter(d, "one")
		}, starts: true, says: []string{"test: run dead (apply, started ", ") was interrupted\ntest: locked by root@host since "}, left: "dead one", written: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			d.WithCode("")
			must.Do(t, d.Open(t.Context()))
			c.before(d)
			d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, d.Key) {
					if lock, err := d.Store.ReadLock(t.Context(), d.Key); err != nil || lock == nil || lock.Who != "slipway@me" {
						t.Errorf("it writes the state under the lock %+v, %v", lock, err)
					}
				}
				return false
			}
			err := recoverLayer(t.Context(), d.Layer, options{})
			switch {
			case c.message != "":
				must.Refuse(t, err, c.message, "")
			case c.starts:
				must.NotStarted(t, err, "init")
			default:
				must.Do(t, err)
			}
			for _, want := range c.says {
				d.Says(want)
			}
			if text := d.Text(); len(c.says) == 0 && c.message == "" && text != "" {
				t.Errorf("it says %q", text)
			}
			if id := d.LockID(); id != c.lock {
				t.Errorf("the lock is %q", id)
			}
			var runs []string
			for _, key := range d.Journals() {
				run, _, _ := strings.Cut(key, "/")
				runs = append(runs, run)
			}
			if left := strings.Join(slices.Compact(runs), " "); left != c.left {
				t.Errorf("there is left %q", left)
			}
			data, err := d.Store.Read(t.Context(), d.Key)
			if written := err == nil && string(data) == testkit.LostText; written != c.written {
				t.Errorf("the state is %q, %v", data, err)
			}
		})
	}
}

// While the store cannot be read, nothing is taken for recovered.
func TestRecoverFails(t *testing.T) {
	for _, part := range []string{"journal%2F", ".tflock", "recovery%2F"} {
		d := testkit.New(t)
		lose(d)
		d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			refused := r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, part) || strings.Contains(r.URL.RawQuery, part))
			if refused {
				w.WriteHeader(http.StatusForbidden)
			}
			return refused
		}
		if err := recoverLayer(t.Context(), d.Layer, options{}); err == nil {
			t.Errorf("without %s it is done", part)
		}
	}
}

// What was deleted is removed from the state, and what was created is imported by its ID, replacing
// the old object.
func TestCorrect(t *testing.T) {
	recorded := map[string]*tfjson.StateResource{
		"a.b": testkit.Recorded("a", "1"),
		"c.d": {Type: "c", AttributeValues: map[string]any{"number": 7}},
	}
	one := func(address, key, id string) []journal.Entry {
		return []journal.Entry{{Kind: journal.Complete, Time: time.Unix(1, 0), Address: address, Action: "create", IDKey: key, ID: id}}
	}
	for name, c := range map[string]struct {
		account                journal.Outcome
		remove, imported, open string // addresses
		note                   string
	}{
		"nothing":                  {},
		"deleted, and in it":       {account: journal.Outcome{Deleted: one("a.b", "", "")}, remove: "a.b", note: "a.b was deleted: removing it from the state"},
		"deleted, and not in it":   {account: journal.Outcome{Deleted: one("x.y", "", "")}},
		"made, and in it":          {account: journal.Outcome{Created: one("a.b", "id", "1")}},
		"in it by a number":        {account: journal.Outcome{Created: one("c.d", "number", "7")}},
		"made, and not in it":      {account: journal.Outcome{Created: one("x.y", "id", "1")}, imported: "x.y"},
		"recreated":                {account: journal.Outcome{Created: one("a.b", "id", "2")}, remove: "a.b", imported: "a.b"},
		"without ID, and in it":    {account: journal.Outcome{Created: one("a.b", "", "")}},
		"without ID, not in it":    {account: journal.Outcome{Created: one("x.y", "", "")}, open: "x.y", note: "x.y was created, but its provider reported no ID for an import"},
		"in flight, nothing to do": {account: journal.Outcome{InFlight: one("x.y", "id", "1")}},
	} {
		m := correct(c.account, recorded)
		if got := strings.Join(m.remove, " "); got != c.remove {
			t.Errorf("%s: it removes %q", name, got)
		}
		if got := strings.Join(addresses(m.toImport), " "); got != c.imported || got != "" && m.toImport[0] != c.account.Created[0] {
			t.Errorf("%s: it imports %+v", name, m.toImport)
		}
		if got := strings.Join(m.open, " "); got != c.open {
			t.Errorf("%s: open is %q", name, got)
		}
		if got := strings.Join(m.notes, " "); got != c.note {
			t.Errorf("%s: it notes %q", name, got)
		}
	}
	// Of several, each is judged.
	m := correct(journal.Outcome{Created: slices.Concat(one("x.none", "", ""), one("a.b", "id", "1"), one("x.y", "id", "1"), one("x.z", "id", "2"))}, recorded)
	if got := addresses(m.toImport); !slices.Equal(got, []string{"x.y", "x.z"}) {
		t.Errorf("it imports %q", got)
	}
}

// What could not be imported or found is open, and is reported with its ID. The report only says
// that everything is in the state if there was nothing to do.
func TestCorrectionEnd(t *testing.T) {
	const all = "everything that was created is in the state"
	one := []journal.Entry{{Address: "a.b", IDKey: "id", ID: "1"}}
	for name, c := range map[string]struct {
		m           correction
		account     journal.Outcome
		found, left []journal.Entry
		unknown     []string
		open, notes string
	}{
		"nothing to do": {account: journal.Outcome{Created: one}, notes: all},
		"imported":      {m: correction{toImport: one}},
		"taken out":     {m: correction{remove: []string{"a.b"}}},
		"found":         {found: one},
		"in flight":     {account: journal.Outcome{InFlight: one}},
		"without an ID": {m: correction{open: []string{"c.d"}}, open: "c.d"},
		"not found":     {unknown: []string{"e.f"}, open: "e.f"},
		"left":          {left: one, open: "a.b", notes: "a.b was created, but could not be imported into the state: its id is 1"},
		"all of them":   {m: correction{open: []string{"c.d"}}, left: one, unknown: []string{"e.f"}, open: "c.d a.b e.f", notes: "a.b was created, but could not be imported into the state: its id is 1"},
	} {
		open, notes := c.m.end(c.account, c.found, c.left, c.unknown)
		if strings.Join(open, " ") != c.open || strings.Join(notes, "; ") != c.notes {
			t.Errorf("%s: open %q, %q", name, open, notes)
		}
	}
}
