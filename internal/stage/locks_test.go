package stage

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway/internal/environment"
	"slipway/internal/journal"
	"slipway/internal/secrets"
	"slipway/internal/state"
	"slipway/internal/tofu"
)

// A change begins only where no other run is at work, none was interrupted, and nobody
// holds the lock.
func TestRefuseRuns(t *testing.T) {
	for name, c := range map[string]struct {
		before        func(d *Desk)
		message, hint string // empty: it may begin
	}{
		"nobody":                {func(*Desk) {}, "", ""},
		"itself":                {func(d *Desk) { d.Other(journal.Header{ID: "me"}) }, "", ""},
		"one at work":           {func(d *Desk) { d.Other(journal.Header{ID: "you", Stage: "destroy"}) }, "the state of test is in use by run you (destroy, begun", "dagger call unlock --env=test"},
		"one interrupted":       {func(d *Desk) { d.Interrupted(journal.Header{ID: "you", Stage: "apply"}) }, "run you (apply, begun", "dagger call recover --env=test"},
		"one that has finished": {func(d *Desk) { Do(d.T, d.Other(journal.Header{ID: "you"}).Finish(d.T.Context())) }, "", ""},
		"a lock":                {func(d *Desk) { d.LockAs("laptop") }, "the state of test is locked by root@host", "dagger call unlock --env=test"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			c.before(d)
			err := RefuseRuns(t.Context(), d.Layer)
			if c.message != "" {
				Refuse(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	d := New(t)
	d.Fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if err := RefuseRuns(t.Context(), d.Layer); err == nil {
		t.Error("a store that refuses says that nobody is there")
	}
	d.Store = nil
	if err := RefuseRuns(t.Context(), d.Layer); err != nil {
		t.Errorf("over HTTP: %v", err)
	}
}

// A lock may be taken away if a dead run's journal names it, or a person does.
func TestMayRelease(t *testing.T) {
	dead := []journal.Run{{Header: journal.Header{ID: "dead", Lock: "of-dead"}, Entries: []journal.Entry{{Kind: journal.Begin}}}}
	lock := state.Lock{ID: "lock", Who: "root@host"}
	for name, c := range map[string]struct {
		others        Others
		lock          state.Lock
		lockID        string
		message, hint string
	}{
		"of a dead run":           {Others{Dead: dead}, state.Lock{ID: "of-dead"}, "", "", ""},
		"of nobody that is known": {Others{Dead: dead}, lock, "", "nothing shows that root@host is dead", "make sure that it is dead, then: dagger call unlock --env=test --lock-id=lock"},
		"that a person names":     {Others{}, lock, "lock", "", ""},
		"beside the one named":    {Others{Dead: dead}, lock, "lokc", `--lock-id is "lokc", and the lock's is lock`, "--lock-id=lock"},
		"of one that is at work":  {Others{Live: dead}, state.Lock{ID: "of-dead"}, "", "nothing shows", "--lock-id=of-dead"},
		"of one that has just finished": {Others{Over: dead}, state.Lock{ID: "of-dead"}, "",
			"run dead has just finished, and is giving the lock of test back", "repeat this in 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Layer{Run: &Run{Options: Options{Env: "test", DeadAfter: time.Minute}, Environment: &environment.Environment{}}, Name: "test"}
			err := mayRelease(l, c.others, c.lock, c.lockID)
			if c.message != "" {
				Refuse(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	l := &Layer{Run: &Run{Options: Options{DeadAfter: 0}}, Name: "test"}
	if err := mayRelease(l, Others{Over: dead}, state.Lock{ID: "of-dead"}, ""); err != nil {
		t.Errorf("of one that finished a minute ago: %v", err)
	}
}

// To take the lock is to have written its ID into the journal before, and to have nobody
// beside oneself who takes locks away.
func TestTake(t *testing.T) {
	d := New(t)
	d.Creates, d.Replaces = []string{"a.b", "c.d"}, []string{"c.d"}
	named := ""
	d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".tflock") {
			runs, err := journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
			if err != nil || len(runs) != 1 {
				t.Fatal(runs, err)
			}
			named = runs[0].Lock
			if runs[0].Stage != "apply" || runs[0].Environment != "test" || runs[0].Layer != "test" || len(runs[0].Creates) != 2 || len(runs[0].Replaces) != 1 {
				t.Errorf("%+v", runs[0].Header)
			}
		}
		return false
	}
	ctx, h, err := Take(t.Context(), d.Layer)
	Do(t, err)
	if id := d.LockID(); id == "" || id != named {
		t.Errorf("the lock is %q, and the journal named %q before", id, named)
	}
	lock, err := d.Store.ReadLock(t.Context(), d.Key)
	if err != nil || lock.Who != "slipway@me" || lock.Operation != "apply" {
		t.Errorf("%+v, %v", lock, err)
	}
	Do(t, h.End(ctx, true))
	if id, keys := d.LockID(), d.Journals(); id != "" || len(keys) > 0 {
		t.Errorf("after it, the lock is %q, and there is %q", id, keys)
	}
}

// After a run that did not end in order, its lock and its journal stay, and nobody begins.
func TestTakeLeft(t *testing.T) {
	d := New(t)
	_, h, err := Take(t.Context(), d.Layer)
	Do(t, err)
	Do(t, h.End(t.Context(), false))
	if id := d.LockID(); id != h.Lock.ID {
		t.Errorf("the lock is %q", id)
	}
	d.ID = "you"
	Refuse(t, RefuseRuns(t.Context(), d.Layer), "run me (apply, begun", "dagger call recover")
	if _, _, err := Take(t.Context(), d.Layer); err == nil {
		t.Error("the next takes the lock")
	}
	if keys := strings.Join(d.Journals(), " "); strings.Contains(keys, "you") {
		t.Errorf("one that was refused leaves %s", keys)
	}
}

// A run that was refused the lock leaves neither a journal nor the lock, and does not touch
// that of another.
func TestTakeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(d *Desk)
		message string
		lock    string // afterwards
	}{
		"by a lock":                      {func(d *Desk) { d.LockAs("laptop") }, "is locked by root@host", "laptop"},
		"by one that takes locks away":   {func(d *Desk) { d.Other(journal.Header{ID: "you", Stage: "recover"}) }, "in use by run you (recover", ""},
		"by another that does":           {func(d *Desk) { d.Other(journal.Header{ID: "you", Stage: "unlock"}) }, "in use by run you (unlock", ""},
		"by one that was interrupted":    {func(d *Desk) { d.Interrupted(journal.Header{ID: "you", Stage: "apply"}) }, "was interrupted", ""},
		"not by one that waits likewise": {func(d *Desk) { d.Other(journal.Header{ID: "you", Stage: "apply"}) }, "", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			c.before(d)
			before := len(d.Journals())
			_, h, err := Take(t.Context(), d.Layer)
			if c.message == "" {
				Do(t, err)
				if d.LockID() != h.Lock.ID {
					t.Error("it has not got the lock")
				}
				Do(t, h.End(t.Context(), true))
				return
			}
			Refuse(t, err, c.message, "")
			if id := d.LockID(); id != c.lock {
				t.Errorf("the lock is %q", id)
			}
			if now := len(d.Journals()); now != before {
				t.Errorf("there is %q", d.Journals())
			}
		})
	}
}

// One that takes locks away is alone: before it begins, and after others can see it.
func TestAlone(t *testing.T) {
	d := New(t)
	_, h, err := Alone(t.Context(), d.Layer)
	Do(t, err)
	d.ID = "you"
	_, _, err = Alone(t.Context(), d.Layer)
	Refuse(t, err, "run me (apply, begun", "repeat this in")
	Do(t, h.End(t.Context(), true))

	// Another begins between the look and the journal.
	d = New(t)
	begun := false
	d.Fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/me/") && !begun {
			begun = true
			d.Other(journal.Header{ID: "you", Stage: "apply"})
		}
		return false
	}
	_, _, err = Alone(t.Context(), d.Layer)
	Refuse(t, err, "run you (apply, begun", "wait until it ends")
	if keys := strings.Join(d.Journals(), " "); strings.Contains(keys, "me/") {
		t.Errorf("it leaves %s", keys)
	}
}

// release takes a dead run's lock, and no other.
func TestRelease(t *testing.T) {
	d := New(t)
	Do(t, Release(t.Context(), d.Layer, "")) // there is none
	d.Interrupted(journal.Header{ID: "dead", Lock: "of-dead"})
	d.LockAs("laptop")
	Refuse(t, Release(t.Context(), d.Layer, ""), "nothing shows", "--lock-id=laptop")
	if id := d.LockID(); id != "laptop" {
		t.Errorf("the lock is %q", id)
	}
	Do(t, d.Store.Unlock(t.Context(), d.Key, "laptop"))
	d.LockAs("of-dead")
	Do(t, Release(t.Context(), d.Layer, ""))
	if id := d.LockID(); id != "" {
		t.Errorf("the lock is %q", id)
	}
}

// A lock that cannot be given back at once is given back a moment later; one that is
// another's by then is left alone.
func TestGiveBack(t *testing.T) {
	d := New(t)
	_, h, err := Take(t.Context(), d.Layer)
	Do(t, err)
	failures := 4 // more than the client tries by itself
	d.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, ".tflock") || failures == 0 {
			return false
		}
		failures--
		w.WriteHeader(http.StatusInternalServerError)
		return true
	}
	Do(t, h.End(t.Context(), true))
	if id := d.LockID(); id != "" {
		t.Errorf("the lock is %q", id)
	}
	d = New(t)
	_, h, err = Take(t.Context(), d.Layer)
	Do(t, err)
	Do(t, d.Store.Unlock(t.Context(), d.Key, h.Lock.ID))
	d.LockAs("laptop")
	Do(t, h.End(t.Context(), true))
	if id := d.LockID(); id != "laptop" {
		t.Errorf("the lock is %q", id)
	}
}

// After an apply there is nothing to recover only if tofu ended by itself and the store has what it
// did.
func TestCloseApply(t *testing.T) {
	const before = `{"serial":7,"lineage":"line","encrypted_data":"x"}`
	for name, c := range map[string]struct {
		e       ending
		changed bool
		now     string // the state in the store
		want    string // empty: nothing to recover
	}{
		"nothing changed":             {now: before},
		"changed and written":         {changed: true, now: `{"serial":8,"lineage":"line","encrypted_data":"x"}`},
		"failed and written":          {e: ending{code: 1}, changed: true, now: `{"serial":8,"lineage":"line","encrypted_data":"x"}`},
		"changed and not written":     {changed: true, now: before, want: "the state may not record what was done"},
		"changed, and a broken state": {changed: true, now: "x", want: "is damaged"},
		"killed":                      {e: ending{err: tofu.ErrKilled}, now: before, want: "the state may not record what it had done by then; next: dagger call recover --env=test"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			d.Dir = d.Path("repository")
			Do(t, os.MkdirAll(d.Dir, 0o700))
			d.Stamp = state.Stamp{Serial: 7, Lineage: "line"}
			Do(t, d.Store.Write(t.Context(), d.Key, []byte(c.now)))
			seen := &recorder{}
			if c.changed {
				seen.done = []journal.Entry{{Kind: journal.Complete, Address: "a.b", Action: "create"}}
			}
			err := closeApply(t.Context(), t.Context(), d.Layer, seen, c.e)
			if c.want == "" && (d.Unwritten || err != nil && c.e.succeeded()) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
			if d.Row.Applied != (c.want == "" && c.e.succeeded()) || d.Unwritten != (c.want != "") {
				t.Errorf("applied: %v, unwritten: %v", d.Row.Applied, d.Unwritten)
			}
		})
	}
	overHTTP := func() *Layer {
		d := New(t)
		d.Store, d.Dir = nil, d.Path("repository")
		Do(t, os.MkdirAll(d.Dir, 0o700))
		return d.Layer
	}
	Do(t, closeApply(t.Context(), t.Context(), overHTTP(), &recorder{done: []journal.Entry{{}}}, ending{}))
	err := closeApply(t.Context(), t.Context(), overHTTP(), &recorder{}, ending{err: tofu.ErrKilled})
	if err == nil || strings.Contains(err.Error(), "recover") || !strings.Contains(err.Error(), "look in the cloud") {
		t.Errorf("over HTTP, there is nothing to recover by: %v", err)
	}
}

// How tofu ended says whether the state surely records what was done.
func TestEnding(t *testing.T) {
	complains := func(summary string) []tofu.Diagnostic {
		return []tofu.Diagnostic{{Severity: "error", Summary: summary}}
	}
	for name, c := range map[string]struct {
		e    ending
		want string // empty: no doubt
	}{
		"done":                           {},
		"failed":                         {e: ending{code: 1}},
		"never started":                  {e: ending{err: tofu.ErrNotStarted}},
		"killed":                         {e: ending{err: tofu.ErrKilled}, want: "what it had done by then"},
		"a crash":                        {e: ending{code: 11}, want: "tofu ended with exit code 11"},
		"an exit code that no apply has": {e: ending{code: 2}, want: "tofu ended with exit code 2"},
		"a lost state":                   {e: ending{code: 1, lost: "test.tfstate.age"}, want: "the state could not be written: it is kept, sealed, in recovery/test.tfstate.age"},
		"not saved":                      {e: ending{code: 1, diagnostics: complains("Failed to save state")}, want: "nothing of it was left"},
		"not persisted":                  {e: ending{code: 1, diagnostics: complains("Failed to persist state to backend")}, want: "nothing of it was left"},
		"another error":                  {e: ending{code: 1, diagnostics: complains("quota exceeded")}},
	} {
		err := c.e.doubt()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if c.e.succeeded() != (name == "done") {
			t.Errorf("%s: succeeded is %v", name, c.e.succeeded())
		}
	}
}

// A create that failed is settled, unless its provider died or forgets what it made.
func TestDoubts(t *testing.T) {
	failed := func(kind string) journal.Entry {
		return journal.Entry{Kind: journal.Errored, Address: kind + ".one", Action: "create"}
	}
	for name, c := range map[string]struct {
		entry       journal.Entry
		diagnostics []tofu.Diagnostic
		doubt       string
	}{
		"refused by a cloud":      {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "quota exceeded"}}, ""},
		"the provider died":       {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "Plugin did not respond"}}, "died while it was created"},
		"the provider broke":      {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "Plugin error"}}, "died while it was created"},
		"the request was cut":     {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "Request cancelled"}}, "died while it was created"},
		"only a warning":          {failed("acme_thing"), []tofu.Diagnostic{{Severity: "warning", Summary: "Plugin error"}}, ""},
		"a database, forgotten":   {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Summary: "timeout while waiting"}}, "did not become ready"},
		"a database, refused":     {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.one", Summary: "calling Post /x", Detail: "(status code 403)"}}, ""},
		"another was refused":     {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.two", Summary: "calling Post /x", Detail: "(status code 403)"}}, "did not become ready"},
		"refused by a broken API": {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.one", Summary: "calling Post /x", Detail: "(status code 500)"}}, "did not become ready"},
		"refused after the post":  {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.one", Summary: "calling Get /x", Detail: "(status code 403)"}}, "did not become ready"},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			_, h, err := Take(t.Context(), d.Layer)
			Do(t, err)
			d.Diagnostics = c.diagnostics
			a := &recorder{hold: h}
			a.event(tofu.Event{Type: tofu.ApplyStart, Hook: tofu.Hook{Resource: tofu.Resource{Address: c.entry.Address}, Action: "create"}})
			a.event(tofu.Event{Type: tofu.ApplyErrored, Hook: tofu.Hook{Resource: tofu.Resource{Address: c.entry.Address}, Action: "create"}})
			err = settleFailed(d.Layer, a)
			if c.doubt == "" && err != nil || c.doubt != "" && (err == nil || !strings.Contains(err.Error(), c.doubt)) {
				t.Errorf("got %v", err)
			}
			Do(t, h.End(t.Context(), false))
			runs, err := journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
			Do(t, err)
			account := journal.Replay(runs[0].Entries)
			if open := len(account.InFlight) == 1; open != (c.doubt != "") {
				t.Errorf("in flight: %+v", account.InFlight)
			}
		})
	}
}

// What an apply is seen to do is in the journal as it happens.
func TestApplied(t *testing.T) {
	d := New(t)
	_, h, err := Take(t.Context(), d.Layer)
	Do(t, err)
	a := &recorder{hold: h}
	event := func(kind, action, address string) {
		a.event(tofu.Event{Type: kind, Hook: tofu.Hook{Resource: tofu.Resource{Address: address}, Action: action, IDKey: "id", IDValue: "1"}})
	}
	event(tofu.ChangeSummary, "create", "x.x")
	event(tofu.ApplyStart, "update", "a.b")
	event(tofu.ApplyComplete, "update", "a.b")
	if len(a.done) > 0 {
		t.Error("an update is neither made nor deleted")
	}
	event(tofu.ApplyStart, "delete", "c.d")
	event(tofu.ApplyErrored, "delete", "c.d")
	event(tofu.ApplyComplete, "create", "e.f")
	if len(a.done) != 1 || len(a.failed) != 0 {
		t.Errorf("%+v", a)
	}
	a.event(tofu.Event{Type: tofu.OutputsMsg, Outputs: tofu.Outputs{"o": {}}})
	if len(a.outputs) != 1 {
		t.Errorf("%+v", a.outputs)
	}
	Do(t, h.End(t.Context(), false))
	runs, err := journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
	Do(t, err)
	var got []string
	for _, e := range runs[0].Entries[1:] {
		got = append(got, string(e.Kind)+" "+e.Action+" "+e.Address+" "+e.ID)
	}
	if want := "start update a.b 1, complete update a.b 1, start delete c.d 1, errored delete c.d 1, complete create e.f 1"; strings.Join(got, ", ") != want {
		t.Errorf("got %q", got)
	}
	if got := (&recorder{}); true { // over HTTP there is no journal
		got.event(tofu.Event{Type: tofu.ApplyErrored, Hook: tofu.Hook{Action: "create"}})
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
		"one":                {[]string{"a.b"}, "", "1 of what was made or begun is not accounted for: a.b."},
		"seen":               {[]string{"a.b"}, "a.b", ""},
		"one of two seen":    {[]string{"c.d", "a.b"}, "a.b", "is not accounted for: c.d."},
		"another seen":       {[]string{"a.b"}, "c.d", "is not accounted for: a.b."},
		"a key with a comma": {[]string{`a.b["x,y"]`}, `a.b["x,y"]`, ""},
		"an open quote":      {[]string{"a.b"}, `a.b["x`, "--seen has a quote that does not end"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &Layer{Run: &Run{Options: Options{Env: "test"}, Environment: &environment.Environment{}}, Name: "test"}
			err := settle(l, c.open, c.seen)
			if text := l.Report.Masked(func(text string) string { return text }); strings.Contains(text, "test: "+c.seen+" has been seen to\n") != (c.seen != "" && slices.Contains(c.open, c.seen)) {
				t.Errorf("it says %q", text)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
	l := &Layer{Run: &Run{Options: Options{Env: "test"}, Environment: &environment.Environment{}}, Name: "test"}
	if err := settle(l, []string{"c.d", "a.b", "c.d"}, "a.b"); !strings.HasSuffix(err.Error(), "dagger call recover --env=test --seen='a.b,c.d'") {
		t.Errorf("the command is not all of it: %v", err)
	}
}

// A lost state goes back only where it follows on what is there.
func TestPutBack(t *testing.T) {
	lost := `{"serial":8,"lineage":"line","encrypted_data":"lost"}`
	for name, c := range map[string]struct {
		kept    string // in the store; empty: none
		want    string // of the error; empty: none
		written bool
	}{
		"on an older one":      {`{"serial":7,"lineage":"line","encrypted_data":"x"}`, "", true},
		"where there is none":  {"", "", true},
		"on the same":          {`{"serial":8,"lineage":"line","encrypted_data":"x"}`, "", false},
		"on a newer one":       {`{"serial":9,"lineage":"line","encrypted_data":"x"}`, "", false},
		"of another lineage":   {`{"serial":7,"lineage":"other","encrypted_data":"x"}`, "is of another lineage", false},
		"where one is damaged": {`{"serial"`, "is damaged", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(t)
			if c.kept != "" {
				Do(t, d.Store.Write(t.Context(), d.Key, []byte(c.kept)))
			}
			sealed, err := secrets.Envelope([]byte(lost), d.Recipients)
			Do(t, err)
			copied := lostKey(d.Layer) + "you.age"
			Do(t, d.Store.Write(t.Context(), copied, sealed))
			found, err := ListLost(t.Context(), d.Layer, "")
			Do(t, err)
			if len(found) != 1 || found[0].key != copied {
				t.Fatalf("%+v", found)
			}
			err = RestoreLost(t.Context(), d.Layer, found)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
			now, err := d.Store.Read(t.Context(), d.Key)
			if errors.Is(err, state.ErrNone) {
				err = nil
			}
			Do(t, err)
			if written := string(now) == lost; written != c.written || !written && string(now) != c.kept {
				t.Errorf("the state is %s", now)
			}
			// The copy goes when it is of no more use.
			if _, err := d.Store.Read(t.Context(), copied); errors.Is(err, state.ErrNone) == (c.want != "") {
				t.Errorf("the copy: %v", err)
			}
		})
	}
}
