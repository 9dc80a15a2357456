package stage

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	tfjson "github.com/hashicorp/terraform-json"

	"slipway/internal/journal"
	"slipway/internal/secrets"
)

// lose has a state that an earlier run could not write.
func lose(d *Desk) {
	d.T.Helper()
	sealed, err := secrets.Envelope([]byte(LostText), d.Recipients)
	Do(d.T, err)
	Do(d.T, d.Store.Write(d.T.Context(), "recovery/"+d.Key+"/lost.age", sealed))
}

// recover puts lost states back under its lock, takes the locks of dead runs away and litter
// with them. What it cannot account for keeps its journal.
func TestRecover(t *testing.T) {
	WithoutTofu(t)
	litter := func(d *Desk, id string) { Do(t, d.Other(journal.Header{ID: id}).Finish(t.Context())) }
	for name, c := range map[string]struct {
		before  func(d *Desk)
		message string // of a refusal
		starts  bool   // tofu is needed
		says    []string
		lock    string // afterwards
		left    string // the runs that have a journal then
		written bool   // the lost state
	}{
		"nothing": {before: func(*Desk) {}, says: []string{"test: nothing was interrupted\n"}},
		"a lost state": {before: func(d *Desk) { lose(d) }, written: true,
			says: []string{"lost.age is the state again, serial 8\n"}},
		"litter":           {before: func(d *Desk) { litter(d, "one"); litter(d, "two") }},
		"a lock of nobody": {before: func(d *Desk) { d.LockAs("laptop"); lose(d) }, message: "no journal names the lock of test", lock: "laptop"},
		"one at work":      {before: func(d *Desk) { d.Other(journal.Header{ID: "you", Stage: "apply"}); lose(d) }, message: "run you (apply, begun", left: "you"},
		"a state that is damaged": {before: func(d *Desk) {
			Do(t, d.Store.Write(t.Context(), "recovery/"+d.Key+"/lost.age", []byte("x")))
			litter(d, "one")
		}, message: "lost.age cannot be opened", left: "one"},
		"an interrupted run": {before: func(d *Desk) {
			d.Interrupted(journal.Header{ID: "dead", Stage: "apply", Lock: "of-dead"})
			d.LockAs("of-dead")
			lose(d)
			litter(d, "one")
		}, starts: true, says: []string{"test: run dead (apply, begun ", ") was interrupted\ntest: locked by root@host since "}, left: "dead one", written: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			d.WithCode("")
			Do(t, d.Open(t.Context()))
			c.before(d)
			d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, d.Key) {
					if lock, err := d.Store.ReadLock(t.Context(), d.Key); err != nil || lock == nil || lock.Who != "slipway@me" {
						t.Errorf("it writes the state under the lock %+v, %v", lock, err)
					}
				}
				return false
			}
			err := recoverLayer(t.Context(), d.Layer, recoverOptions{})
			switch {
			case c.message != "":
				Refuse(t, err, c.message, "")
			case c.starts:
				NotStarted(t, err, "init")
			default:
				Do(t, err)
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
			if written := err == nil && string(data) == LostText; written != c.written {
				t.Errorf("the state is %q, %v", data, err)
			}
		})
	}
}

// While the store cannot be read, nothing is taken for recovered.
func TestRecoverFails(t *testing.T) {
	for _, part := range []string{"journal%2F", ".tflock", "recovery%2F"} {
		d := New(t)
		lose(d)
		d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			refused := r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, part) || strings.Contains(r.URL.RawQuery, part))
			if refused {
				w.WriteHeader(http.StatusForbidden)
			}
			return refused
		}
		if err := recoverLayer(t.Context(), d.Layer, recoverOptions{}); err == nil {
			t.Errorf("without %s it is done", part)
		}
	}
}

// What was deleted leaves the state, and what was made is taken in by its ID, in the place of
// what it replaced.
func TestMendingOf(t *testing.T) {
	recorded := map[string]*tfjson.StateResource{
		"a.b": Recorded("a", "1"),
		"c.d": {Type: "c", AttributeValues: map[string]any{"number": 7}},
	}
	one := func(address, key, id string) []journal.Entry {
		return []journal.Entry{{Kind: journal.Complete, Time: time.Unix(1, 0), Address: address, Action: "create", IDKey: key, ID: id}}
	}
	for name, c := range map[string]struct {
		account              journal.Outcome
		remove, takeIn, open string // addresses
		note                 string
	}{
		"nothing":                  {},
		"deleted, and in it":       {account: journal.Outcome{Deleted: one("a.b", "", "")}, remove: "a.b", note: "a.b was deleted, and is taken out of the state"},
		"deleted, and not in it":   {account: journal.Outcome{Deleted: one("x.y", "", "")}},
		"made, and in it":          {account: journal.Outcome{Created: one("a.b", "id", "1")}},
		"in it by a number":        {account: journal.Outcome{Created: one("c.d", "number", "7")}},
		"made, and not in it":      {account: journal.Outcome{Created: one("x.y", "id", "1")}, takeIn: "x.y"},
		"made anew":                {account: journal.Outcome{Created: one("a.b", "id", "2")}, remove: "a.b", takeIn: "a.b"},
		"without ID, and in it":    {account: journal.Outcome{Created: one("a.b", "", "")}},
		"without ID, not in it":    {account: journal.Outcome{Created: one("x.y", "", "")}, open: "x.y", note: "x.y was made, and its provider tells no ID to import it by"},
		"in flight, nothing to do": {account: journal.Outcome{InFlight: one("x.y", "id", "1")}},
	} {
		m := correct(c.account, recorded)
		if got := strings.Join(m.remove, " "); got != c.remove {
			t.Errorf("%s: it removes %q", name, got)
		}
		if got := strings.Join(addresses(m.adopt), " "); got != c.takeIn || got != "" && m.adopt[0] != c.account.Created[0] {
			t.Errorf("%s: it takes in %+v", name, m.adopt)
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
	if got := addresses(m.adopt); !slices.Equal(got, []string{"x.y", "x.z"}) {
		t.Errorf("it takes in %q", got)
	}
}

// What could not be taken in, or found, is open, and named with its ID. Only where there was
// nothing to do does the state hold all.
func TestMendingEnds(t *testing.T) {
	const all = "the state holds all that was made"
	one := []journal.Entry{{Address: "a.b", IDKey: "id", ID: "1"}}
	for name, c := range map[string]struct {
		m           correction
		account     journal.Outcome
		found, left []journal.Entry
		unknown     []string
		open, notes string
	}{
		"nothing to do": {account: journal.Outcome{Created: one}, notes: all},
		"taken in":      {m: correction{adopt: one}},
		"taken out":     {m: correction{remove: []string{"a.b"}}},
		"found":         {found: one},
		"in flight":     {account: journal.Outcome{InFlight: one}},
		"without an ID": {m: correction{open: []string{"c.d"}}, open: "c.d"},
		"not found":     {unknown: []string{"e.f"}, open: "e.f"},
		"left":          {left: one, open: "a.b", notes: "a.b was made, and could not be taken into the state: its id is 1"},
		"all of them":   {m: correction{open: []string{"c.d"}}, left: one, unknown: []string{"e.f"}, open: "c.d a.b e.f", notes: "a.b was made, and could not be taken into the state: its id is 1"},
	} {
		open, notes := c.m.end(c.account, c.found, c.left, c.unknown)
		if strings.Join(open, " ") != c.open || strings.Join(notes, "; ") != c.notes {
			t.Errorf("%s: open %q, %q", name, open, notes)
		}
	}
}

// Recorded is what is managed, in all modules; what is only read is not.
func TestReadRecorded(t *testing.T) {
	recorded, err := ReadRecorded([]byte(`{"format_version": "1.0", "values": {"root_module": {
		"resources": [{"address": "a.b", "mode": "managed", "type": "a", "values": {"id": "1"}}, {"address": "data.c.d", "mode": "data", "type": "c"}],
		"child_modules": [{"child_modules": [{"resources": [{"address": "module.m.module.n.e.f", "mode": "managed", "type": "e"}]}]}]}}}`))
	Do(t, err)
	if len(recorded) != 2 || Attribute(recorded["a.b"], "id") != "1" || recorded["module.m.module.n.e.f"] == nil {
		t.Errorf("%+v", recorded)
	}
	if recorded, err := ReadRecorded([]byte(`{"format_version": "1.0"}`)); err != nil || recorded == nil || len(recorded) > 0 {
		t.Errorf("of no state: %+v, %v", recorded, err)
	}
	if recorded, err := ReadRecorded([]byte("Error")); err == nil {
		t.Errorf("of no JSON: %+v", recorded)
	}
}
