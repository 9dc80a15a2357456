package apply

import (
	"strings"
	"testing"

	"slipway/internal/hold"
	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/testkit"
	"slipway/internal/tofu"
)

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
		"the provider died":       {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "Plugin did not respond"}}, "the provider crashed while creating"},
		"the provider broke":      {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "Plugin error"}}, "the provider crashed while creating"},
		"the request was cut":     {failed("acme_thing"), []tofu.Diagnostic{{Severity: "error", Summary: "Request cancelled"}}, "the provider crashed while creating"},
		"only a warning":          {failed("acme_thing"), []tofu.Diagnostic{{Severity: "warning", Summary: "Plugin error"}}, ""},
		"a database, forgotten":   {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Summary: "timeout while waiting"}}, "did not become ready"},
		"a database, refused":     {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.one", Summary: "calling Post /x", Detail: "(status code 403)"}}, ""},
		"another was refused":     {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.two", Summary: "calling Post /x", Detail: "(status code 403)"}}, "did not become ready"},
		"refused by a broken API": {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.one", Summary: "calling Post /x", Detail: "(status code 500)"}}, "did not become ready"},
		"refused after the post":  {failed("ovh_cloud_project_database"), []tofu.Diagnostic{{Severity: "error", Address: "ovh_cloud_project_database.one", Summary: "calling Get /x", Detail: "(status code 403)"}}, "did not become ready"},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.New(t)
			_, h, err := hold.Take(t.Context(), hold.State(d.Run, d.Config))
			must.Do(t, err)
			d.Diagnostics = c.diagnostics
			a := &recorder{hold: h}
			a.event(tofu.Event{Type: tofu.ApplyStart, Hook: tofu.Hook{Resource: tofu.Resource{Address: c.entry.Address}, Action: "create"}})
			a.event(tofu.Event{Type: tofu.ApplyErrored, Hook: tofu.Hook{Resource: tofu.Resource{Address: c.entry.Address}, Action: "create"}})
			err = settleFailed(d.Layer, a)
			if c.doubt == "" && err != nil || c.doubt != "" && (err == nil || !strings.Contains(err.Error(), c.doubt)) {
				t.Errorf("got %v", err)
			}
			must.Do(t, h.End(t.Context(), false))
			runs, err := journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
			must.Do(t, err)
			account := journal.Replay(runs[0].Entries)
			if open := len(account.InFlight) == 1; open != (c.doubt != "") {
				t.Errorf("in flight: %+v", account.InFlight)
			}
		})
	}
}

// Everything that an apply reports is in the journal as it happens.
func TestApplied(t *testing.T) {
	d := testkit.New(t)
	_, h, err := hold.Take(t.Context(), hold.State(d.Run, d.Config))
	must.Do(t, err)
	a := &recorder{hold: h}
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
	must.Do(t, h.End(t.Context(), false))
	runs, err := journal.Runs(t.Context(), d.Store, d.Identity, d.Key)
	must.Do(t, err)
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
