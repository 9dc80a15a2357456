package stage

import (
	"errors"
	"net/http"
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
		before        func(d *desk)
		message, hint string // empty: it may begin
	}{
		"nobody":                {func(*desk) {}, "", ""},
		"itself":                {func(d *desk) { d.other(journal.Header{ID: "me"}) }, "", ""},
		"one at work":           {func(d *desk) { d.other(journal.Header{ID: "you", Stage: "destroy"}) }, "the state of test is in use by run you (destroy, begun", "dagger call unlock --env=test"},
		"one interrupted":       {func(d *desk) { d.interrupted(journal.Header{ID: "you", Stage: "apply"}) }, "run you (apply, begun", "dagger call recover --env=test"},
		"one that has finished": {func(d *desk) { must(d.t, d.other(journal.Header{ID: "you"}).Finish(d.t.Context())) }, "", ""},
		"a lock":                {func(d *desk) { d.locked("laptop") }, "the state of test is locked by root@host", "dagger call unlock --env=test"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			c.before(d)
			err := d.refuseRuns(t.Context())
			if c.message != "" {
				refuses(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	d := newDesk(t)
	d.fault = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	if err := d.refuseRuns(t.Context()); err == nil {
		t.Error("a store that refuses says that nobody is there")
	}
	d.store = nil
	if err := d.refuseRuns(t.Context()); err != nil {
		t.Errorf("over HTTP: %v", err)
	}
}

// A lock may be taken away if a dead run's journal names it, or a person does.
func TestMayRelease(t *testing.T) {
	dead := []journal.Run{{Header: journal.Header{ID: "dead", Lock: "of-dead"}, Entries: []journal.Entry{{Kind: journal.Begin}}}}
	lock := state.Lock{ID: "lock", Who: "root@host"}
	for name, c := range map[string]struct {
		others        others
		lock          state.Lock
		lockID        string
		message, hint string
	}{
		"of a dead run":           {others{dead: dead}, state.Lock{ID: "of-dead"}, "", "", ""},
		"of nobody that is known": {others{dead: dead}, lock, "", "nothing shows that root@host is dead", "make sure of it, then: dagger call unlock --env=test --lock-id=lock"},
		"that a person names":     {others{}, lock, "lock", "", ""},
		"beside the one named":    {others{dead: dead}, lock, "lokc", `--lock-id is "lokc", and the lock's is lock`, "--lock-id=lock"},
		"of one that is at work":  {others{live: dead}, state.Lock{ID: "of-dead"}, "", "nothing shows", "--lock-id=of-dead"},
		"of one that has just finished": {others{over: dead}, state.Lock{ID: "of-dead"}, "",
			"run dead has just ended, and is giving the lock of test back", "repeat this in 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &root{session: &session{Options: Options{Environment: "test", LockID: c.lockID, DeadAfter: time.Minute}, environment: &environment.Environment{}}, name: "test"}
			err := r.mayRelease(c.others, c.lock)
			if c.message != "" {
				refuses(t, err, c.message, c.hint)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	r := &root{session: &session{Options: Options{DeadAfter: 0}}, name: "test"}
	if err := r.mayRelease(others{over: dead}, state.Lock{ID: "of-dead"}); err != nil {
		t.Errorf("of one that finished a minute ago: %v", err)
	}
}

// To take the lock is to have written its ID into the journal before, and to have nobody
// beside oneself who takes locks away.
func TestTake(t *testing.T) {
	d := newDesk(t)
	d.creates, d.replaces = []string{"a.b", "c.d"}, []string{"c.d"}
	named := ""
	d.fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".tflock") {
			runs, err := journal.Runs(t.Context(), d.store, d.identity, d.key)
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
	ctx, h, err := d.take(t.Context())
	must(t, err)
	if id := d.lockID(); id == "" || id != named {
		t.Errorf("the lock is %q, and the journal named %q before", id, named)
	}
	lock, err := d.store.ReadLock(t.Context(), d.key)
	if err != nil || lock.Who != "slipway@me" || lock.Operation != "apply" {
		t.Errorf("%+v, %v", lock, err)
	}
	must(t, h.end(ctx, true))
	if id, keys := d.lockID(), d.journals(); id != "" || len(keys) > 0 {
		t.Errorf("after it, the lock is %q, and there is %q", id, keys)
	}
}

// After a run that did not end in order, its lock and its journal stay, and nobody begins.
func TestTakeLeft(t *testing.T) {
	d := newDesk(t)
	_, h, err := d.take(t.Context())
	must(t, err)
	must(t, h.end(t.Context(), false))
	if id := d.lockID(); id != h.lock.ID {
		t.Errorf("the lock is %q", id)
	}
	d.RunID = "you"
	refuses(t, d.refuseRuns(t.Context()), "run me (apply, begun", "dagger call recover")
	if _, _, err := d.take(t.Context()); err == nil {
		t.Error("the next takes the lock")
	}
	if keys := strings.Join(d.journals(), " "); strings.Contains(keys, "you") {
		t.Errorf("one that was refused leaves %s", keys)
	}
}

// A run that was refused the lock leaves neither a journal nor the lock, and does not touch
// that of another.
func TestTakeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(d *desk)
		message string
		lock    string // afterwards
	}{
		"by a lock":                      {func(d *desk) { d.locked("laptop") }, "is locked by root@host", "laptop"},
		"by one that takes locks away":   {func(d *desk) { d.other(journal.Header{ID: "you", Stage: "recover"}) }, "in use by run you (recover", ""},
		"by another that does":           {func(d *desk) { d.other(journal.Header{ID: "you", Stage: "unlock"}) }, "in use by run you (unlock", ""},
		"by one that was interrupted":    {func(d *desk) { d.interrupted(journal.Header{ID: "you", Stage: "apply"}) }, "was interrupted", ""},
		"not by one that waits likewise": {func(d *desk) { d.other(journal.Header{ID: "you", Stage: "apply"}) }, "", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			c.before(d)
			before := len(d.journals())
			_, h, err := d.take(t.Context())
			if c.message == "" {
				must(t, err)
				if d.lockID() != h.lock.ID {
					t.Error("it has not got the lock")
				}
				must(t, h.end(t.Context(), true))
				return
			}
			refuses(t, err, c.message, "")
			if id := d.lockID(); id != c.lock {
				t.Errorf("the lock is %q", id)
			}
			if now := len(d.journals()); now != before {
				t.Errorf("there is %q", d.journals())
			}
		})
	}
}

// One that takes locks away is alone: before it begins, and after others can see it.
func TestAlone(t *testing.T) {
	d := newDesk(t)
	_, h, err := d.alone(t.Context())
	must(t, err)
	d.RunID = "you"
	_, _, err = d.alone(t.Context())
	refuses(t, err, "run me (apply, begun", "repeat this in")
	must(t, h.end(t.Context(), true))

	// Another begins between the look and the journal.
	d = newDesk(t)
	begun := false
	d.fault = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/me/") && !begun {
			begun = true
			d.other(journal.Header{ID: "you", Stage: "apply"})
		}
		return false
	}
	_, _, err = d.alone(t.Context())
	refuses(t, err, "run you (apply, begun", "wait until it has ended")
	if keys := strings.Join(d.journals(), " "); strings.Contains(keys, "me/") {
		t.Errorf("it leaves %s", keys)
	}
}

// release takes a dead run's lock, and no other.
func TestRelease(t *testing.T) {
	d := newDesk(t)
	must(t, d.release(t.Context())) // there is none
	d.interrupted(journal.Header{ID: "dead", Lock: "of-dead"})
	d.locked("laptop")
	refuses(t, d.release(t.Context()), "nothing shows", "--lock-id=laptop")
	if id := d.lockID(); id != "laptop" {
		t.Errorf("the lock is %q", id)
	}
	must(t, d.store.Unlock(t.Context(), d.key, "laptop"))
	d.locked("of-dead")
	must(t, d.release(t.Context()))
	if id := d.lockID(); id != "" {
		t.Errorf("the lock is %q", id)
	}
}

// A lock that cannot be given back at once is given back a moment later; one that is
// another's by then is left alone.
func TestGiveBack(t *testing.T) {
	d := newDesk(t)
	_, h, err := d.take(t.Context())
	must(t, err)
	failures := 4 // more than the client tries by itself
	d.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, ".tflock") || failures == 0 {
			return false
		}
		failures--
		w.WriteHeader(http.StatusInternalServerError)
		return true
	}
	must(t, h.end(t.Context(), true))
	if id := d.lockID(); id != "" {
		t.Errorf("the lock is %q", id)
	}
	d = newDesk(t)
	_, h, err = d.take(t.Context())
	must(t, err)
	must(t, d.store.Unlock(t.Context(), d.key, h.lock.ID))
	d.locked("laptop")
	must(t, h.end(t.Context(), true))
	if id := d.lockID(); id != "laptop" {
		t.Errorf("the lock is %q", id)
	}
}

// An apply ended in order only if tofu ended by itself and the store has what it did.
func TestInOrder(t *testing.T) {
	const before = `{"serial":7,"lineage":"line","encrypted_data":"x"}`
	for name, c := range map[string]struct {
		code    int
		err     error
		lost    bool
		changed bool
		now     string // the state in the store
		want    string // empty: in order
	}{
		"nothing changed":             {0, nil, false, false, before, ""},
		"changed and written":         {0, nil, false, true, `{"serial":8,"lineage":"line","encrypted_data":"x"}`, ""},
		"failed and written":          {1, nil, false, true, `{"serial":8,"lineage":"line","encrypted_data":"x"}`, ""},
		"changed and not written":     {0, nil, false, true, before, "what was done may not be in the state"},
		"changed, and a broken state": {0, nil, false, true, "x", "is damaged"},
		"never started":               {0, tofu.ErrNotStarted, false, false, before, ""},
		"killed":                      {0, tofu.ErrKilled, false, false, before, "may not be in the state"},
		"a crash":                     {11, nil, false, false, before, "tofu ended with exit code 11"},
		"a code of no apply":          {2, nil, false, false, before, "tofu ended with exit code 2"},
		"lost":                        {1, nil, true, true, `{"serial":8,"lineage":"line","encrypted_data":"x"}`, "could not be written"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.stamp = state.Stamp{Serial: 7, Lineage: "line"}
			must(t, d.store.Write(t.Context(), d.key, []byte(c.now)))
			var done []journal.Entry
			if c.changed {
				done = []journal.Entry{{Kind: journal.Complete, Address: "a.b", Action: "create"}}
			}
			err := d.inOrder(t.Context(), c.code, c.err, c.lost, done)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
	d := newDesk(t)
	for _, summary := range []string{"Failed to save state", "Failed to persist state to backend"} {
		d.diagnostics = []tofu.Diagnostic{{Severity: "error", Summary: summary}}
		if err := d.inOrder(t.Context(), 1, nil, false, nil); err == nil || !strings.Contains(err.Error(), "nothing of it was left") {
			t.Errorf("%s: %v", summary, err)
		}
	}
	r := &root{session: &session{Options: Options{Environment: "test"}, environment: &environment.Environment{}}}
	if err := r.inOrder(t.Context(), 0, nil, false, []journal.Entry{{}}); err != nil {
		t.Errorf("over HTTP: %v", err)
	}
	if err := r.inOrder(t.Context(), 0, tofu.ErrKilled, false, nil); err == nil || strings.Contains(err.Error(), "recover") {
		t.Errorf("over HTTP, there is nothing to recover by: %v", err)
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
		"the provider died":       {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "Plugin did not respond"}}, "died while it was made"},
		"the provider broke":      {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "Plugin error"}}, "died while it was made"},
		"the request was cut":     {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "Request cancelled"}}, "died while it was made"},
		"only a warning":          {failed("acme_thing"), []tofu.Diagnostic{{Severity: "warning", Summary: "Plugin error"}}, ""},
		"a database, forgotten":   {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Summary: "timeout while waiting"}}, "did not become ready"},
		"a database, refused":     {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.one", Summary: "calling Post /x", Detail: "(status code 403)"}}, ""},
		"another was refused":     {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.two", Summary: "calling Post /x", Detail: "(status code 403)"}}, "did not become ready"},
		"refused by a broken API": {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.one", Summary: "calling Post /x", Detail: "(status code 500)"}}, "did not become ready"},
		"refused after the post":  {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.one", Summary: "calling Get /x", Detail: "(status code 403)"}}, "did not become ready"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			_, h, err := d.take(t.Context())
			must(t, err)
			d.diagnostics = c.diagnostics
			a := &applied{hold: h}
			a.event(tofu.Event{Type: tofu.ApplyStart, Hook: tofu.Hook{Resource: tofu.Resource{Address: c.entry.Address}, Action: "create"}})
			a.event(tofu.Event{Type: tofu.ApplyErrored, Hook: tofu.Hook{Resource: tofu.Resource{Address: c.entry.Address}, Action: "create"}})
			err = d.doubts(a)
			if c.doubt == "" && err != nil || c.doubt != "" && (err == nil || !strings.Contains(err.Error(), c.doubt)) {
				t.Errorf("got %v", err)
			}
			must(t, h.end(t.Context(), false))
			runs, err := journal.Runs(t.Context(), d.store, d.identity, d.key)
			must(t, err)
			account := journal.Take(runs[0].Entries)
			if open := len(account.InFlight) == 1; open != (c.doubt != "") {
				t.Errorf("in flight: %+v", account.InFlight)
			}
		})
	}
}

// What an apply is seen to do is in the journal as it happens.
func TestApplied(t *testing.T) {
	d := newDesk(t)
	_, h, err := d.take(t.Context())
	must(t, err)
	a := &applied{hold: h}
	event := func(kind, action, address string) {
		a.event(tofu.Event{Type: kind, Hook: tofu.Hook{Resource: tofu.Resource{Address: address}, Action: action, IDKey: "id", IDValue: "1"}})
	}
	event(tofu.TestRun, "create", "x.x")
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
	must(t, h.end(t.Context(), false))
	runs, err := journal.Runs(t.Context(), d.store, d.identity, d.key)
	must(t, err)
	var got []string
	for _, e := range runs[0].Entries[1:] {
		got = append(got, string(e.Kind)+" "+e.Action+" "+e.Address+" "+e.ID)
	}
	if want := "start update a.b 1, complete update a.b 1, start delete c.d 1, errored delete c.d 1, complete create e.f 1"; strings.Join(got, ", ") != want {
		t.Errorf("got %q", got)
	}
	if got := (&applied{}); true { // over HTTP there is no journal
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
			r := &root{session: &session{Options: Options{Environment: "test", Seen: c.seen}, environment: &environment.Environment{}}, name: "test"}
			err := r.settle(c.open)
			if text := r.report.masked(func(text string) string { return text }); strings.Contains(text, "test: "+c.seen+" has been seen to\n") != (c.seen != "" && slices.Contains(c.open, c.seen)) {
				t.Errorf("it says %q", text)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
	r := &root{session: &session{Options: Options{Environment: "test", Seen: "a.b"}, environment: &environment.Environment{}}, name: "test"}
	if err := r.settle([]string{"c.d", "a.b", "c.d"}); !strings.HasSuffix(err.Error(), "dagger call recover --env=test --seen='a.b,c.d'") {
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
			d := newDesk(t)
			if c.kept != "" {
				must(t, d.store.Write(t.Context(), d.key, []byte(c.kept)))
			}
			sealed, err := secrets.Envelope([]byte(lost), d.recipients)
			must(t, err)
			copied := d.lostKey() + "you.age"
			must(t, d.store.Write(t.Context(), copied, sealed))
			found, err := d.lostStates(t.Context())
			must(t, err)
			if len(found) != 1 || found[0].key != copied {
				t.Fatalf("%+v", found)
			}
			err = d.restore(t.Context(), found)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
			now, err := d.store.Read(t.Context(), d.key)
			if errors.Is(err, state.ErrNone) {
				err = nil
			}
			must(t, err)
			if written := string(now) == lost; written != c.written || !written && string(now) != c.kept {
				t.Errorf("the state is %s", now)
			}
			// The copy goes when it is of no more use.
			if _, err := d.store.Read(t.Context(), copied); errors.Is(err, state.ErrNone) == (c.want != "") {
				t.Errorf("the copy: %v", err)
			}
		})
	}
}
