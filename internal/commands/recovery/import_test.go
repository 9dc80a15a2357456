package recovery

import (
	"slices"
	"strings"
	"testing"

	"slipway/internal/journal"
	"slipway/internal/must"
	"slipway/internal/plan"
	"slipway/internal/testkit"
)

func TestImportID(t *testing.T) {
	values := map[string]any{"service_name": "p", "engine": "postgresql", "cluster_id": "c"}
	for name, c := range map[string]struct {
		w    wish
		want string
		ok   bool
	}{
		"a service":           {wish{"ovh_cloud_project_database", values}, "p/postgresql/1", true},
		"a database":          {wish{"ovh_cloud_project_database_database", values}, "p/postgresql/c/1", true},
		"a user":              {wish{"ovh_cloud_project_database_postgresql_user", values}, "p/c/1", true},
		"a service not known": {wish{"ovh_cloud_project_database_postgresql_user", map[string]any{"service_name": "p"}}, "p//1", false},
		"an engine not known": {wish{"ovh_cloud_project_database", map[string]any{"service_name": "p", "engine": ""}}, "p//1", false},
		"only the last known": {wish{"ovh_cloud_project_database_postgresql_user", map[string]any{"cluster_id": "c"}}, "/c/1", false},
		"nothing known":       {wish{"ovh_cloud_project_database", nil}, "//1", false},
	} {
		if got, ok := importID(c.w, "1"); got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

// A plan that only imports may be applied at once; one that changes something is shown first.
func TestImports(t *testing.T) {
	for name, c := range map[string]struct {
		actions []plan.Action
		want    bool
	}{
		"nothing":          {nil, true},
		"imports":          {[]plan.Action{plan.Import, plan.Import}, true},
		"an update, too":   {[]plan.Action{plan.Import, plan.Update}, false},
		"only creates one": {[]plan.Action{plan.Create}, false},
	} {
		var summary plan.Summary
		for _, action := range c.actions {
			summary.Changes = append(summary.Changes, plan.Change{Address: "a.b", Action: action, Imported: true})
		}
		if got := imports(summary); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Of what was just made, and is to be replaced because its provider does not read all of it
// back, the report says so.
func TestWarnOfReplacements(t *testing.T) {
	d := testkit.New(t)
	warnOfReplacements(d.Layer, plan.Summary{Changes: []plan.Change{
		{Address: "a.imported", Action: plan.Replace, Imported: true, Forces: []string{"user_data", "zone"}},
		{Address: "a.other", Action: plan.Replace, Forces: []string{"zone"}},
		{Address: "a.whole", Action: plan.Import, Imported: true},
	}})
	if text := d.Text(); text != "test: a.imported: the next apply replaces it, because an import does not read its user_data, zone\n" {
		t.Errorf("it says %q", text)
	}
}

// What its provider imports by a longer id waits for what is known only when others are in.
func TestByID(t *testing.T) {
	var made []journal.Entry
	for _, address := range []string{testkit.Network + ".net", "ovh_cloud_project_database_database.app", "acme_thing.x", `module.a["b"].ovh_cloud_project_database.db`} {
		made = append(made, journal.Entry{Address: address})
	}
	simple, composed := byID(made)
	if got := addresses(simple); !slices.Equal(got, []string{testkit.Network + ".net", "acme_thing.x"}) {
		t.Errorf("simple: %q", got)
	}
	if got := addresses(composed); !slices.Equal(got, []string{"ovh_cloud_project_database_database.app", `module.a["b"].ovh_cloud_project_database.db`}) {
		t.Errorf("composed: %q", got)
	}
}

// What the code says of a resource is what a plan says that it will be. A plan also says which conditions fail.
func TestReadWishes(t *testing.T) {
	wishes, failed, err := readWishes([]byte(`{"format_version": "1.2", "resource_changes": [
		{"address": "a.one", "type": "a", "change": {"actions": ["create"], "after": {"name": "one"}}},
		{"address": "a.gone", "type": "a", "change": {"actions": ["delete"], "after": null}},
		{"address": "a.none", "type": "a"}], "checks": [
		{"address": {"to_display": "a.one"}, "status": "pass", "instances": [{"address": {"to_display": "a.one"}, "status": "pass"}]},
		{"address": {"to_display": "a.two"}, "status": "fail", "instances": [{"address": {"to_display": "a.two[0]"}, "status": "pass"}, {"address": {"to_display": "a.two[1]"}, "status": "fail"}]}]}`))
	must.Do(t, err)
	if len(wishes) != 2 || wishes["a.one"].kind != "a" || wishes["a.one"].values["name"] != "one" || wishes["a.gone"].values != nil {
		t.Errorf("%+v", wishes)
	}
	if !slices.Equal(failed, []string{"a.two[1]"}) {
		t.Errorf("failed: %q", failed)
	}
	if wishes, _, err := readWishes([]byte("Error")); err == nil || !strings.Contains(err.Error(), "invalid character") {
		t.Errorf("%+v, %v", wishes, err)
	}
}
