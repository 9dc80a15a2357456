package ovh

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway/dev/cloudsim/faults"
	"slipway/internal/testkit/soon"
)

// What may have been made is found by its place, its name and its time.
func TestFind(t *testing.T) {
	t.Parallel()
	account, _ := fresh(t)
	begun := time.Now().Add(-time.Second)
	id, other := account.create(t, "test-postgresql"), account.create(t, "prod-postgresql")
	for _, id := range []string{id, other} {
		account.await(t, id, "READY")
	}
	inside := map[string]string{}
	for what, kind := range map[string]string{"database": "ovh_cloud_project_database_database", "user": "ovh_cloud_project_database_postgresql_user"} {
		var made struct{ ID string }
		if err := account.api.Post(path(project, "postgresql", id, what), map[string]any{"name": "app"}, &made); err != nil {
			t.Fatal(err)
		}
		inside[kind] = made.ID
	}
	// Each service has one database from the beginning.
	all, err := account.objects(t.Context(), path(project, "postgresql", other, "database"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	inside["of every service"] = all[0].ID
	service := map[string]any{"service_name": project, "engine": "postgresql", "description": "test-postgresql"}
	app := map[string]any{"service_name": project, "engine": "postgresql", "cluster_id": id, "name": "app"}
	const cluster, database, user = "ovh_cloud_project_database", "ovh_cloud_project_database_database", "ovh_cloud_project_database_postgresql_user"
	with := func(values map[string]any, name string, value any) map[string]any {
		changed := maps.Clone(values)
		changed[name] = value
		return changed
	}
	inOrder := func(ids ...string) string { return strings.Join(slices.Sorted(slices.Values(ids)), " ") }
	for name, c := range map[string]struct {
		kind   string
		values map[string]any
		since  time.Time
		want   string // undated ones behind a question mark, and after ~ those of which any may be it
	}{
		"a service":                      {cluster, service, begun, id},
		"another name":                   {cluster, with(service, "description", "x"), begun, ""},
		"another project":                {cluster, with(service, "service_name", "x"), begun, ""},
		"a project not known":            {cluster, with(service, "service_name", nil), begun, "~"},
		"an engine not known":            {cluster, with(service, "engine", nil), begun, "~"},
		"a name not known":               {cluster, with(service, "description", nil), begun, "~" + inOrder(id, other)},
		"a name not known, and none":     {cluster, with(service, "description", nil), time.Now().Add(time.Hour), ""},
		"an older one":                   {cluster, service, time.Now().Add(time.Hour), ""},
		"a database":                     {database, app, begun, inside[database]},
		"a database in an older service": {database, app, time.Now().Add(time.Hour), "?" + inside[database]},
		"an older user":                  {user, app, time.Now().Add(time.Hour), ""},
		"a database elsewhere":           {database, with(app, "cluster_id", other), begun, ""},
		"a service not known":            {database, with(app, "cluster_id", nil), begun, "~" + inside[database]},
		"its project not known":          {database, with(app, "service_name", nil), begun, "~"},
		"its engine not known":           {database, with(app, "engine", nil), begun, "~"},
		"its name not known":             {database, with(with(app, "name", nil), "cluster_id", other), begun, "~" + inside["of every service"]},
		"no such name in any service":    {database, with(with(app, "cluster_id", nil), "name", "x"), begun, ""},
		"none in a service so young":     {database, with(app, "cluster_id", nil), time.Now().Add(time.Hour), ""},
		"a user of a service not known":  {user, with(app, "cluster_id", nil), begun, "~" + inside[user]},
		"a service that is gone": {
			database, with(app, "cluster_id", "33333333-3333-4333-8333-333333333333"), begun, ""},
		"a user":       {user, app, begun, inside[user]},
		"another user": {user, with(app, "name", "x"), begun, ""},
	} {
		var got []string
		var certain bool
		var err error
		soon.Wait(t, "the database is listed", func() bool { // when it is made
			var undated []string
			got, undated, certain, err = account.Find(t.Context(), c.kind, c.values, c.since)
			for _, id := range undated {
				got = append(got, "?"+id)
			}
			return err != nil || len(got) > 0 || c.want == "" || c.want == "~"
		})
		text := strings.Join(got, " ")
		if !certain {
			text = "~" + text
		}
		if err != nil || text != c.want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	twin := account.create(t, "test-postgresql")
	if got, _, _, err := account.Find(t.Context(), cluster, service, begun); err != nil || len(got) != 2 || !slices.Contains(got, twin) || !slices.IsSorted(got) {
		t.Errorf("%v, %v", got, err)
	}
}

// One that is being deleted is none, and a fault is no proof that there is none.
func TestFindNot(t *testing.T) {
	t.Parallel()
	account, rules := fresh(t)
	service := map[string]any{"service_name": project, "engine": "postgresql", "description": "test-postgresql"}
	id := account.create(t, "test-postgresql")
	account.await(t, id, "READY")
	for _, path := range []string{"/postgresql$", "/postgresql/"} {
		if err := rules.Replace([]faults.Rule{{Path: path, Status: http.StatusInternalServerError}}); err != nil {
			t.Fatal(err)
		}
		if got, _, _, err := account.Find(t.Context(), "ovh_cloud_project_database", service, time.Time{}); err == nil {
			t.Errorf("%s: %v", path, got)
		}
	}
	// It is kept in DELETING, so that no busy machine is too slow to see it.
	if err := rules.Replace([]faults.Rule{{Method: "DELETE", Set: map[string]string{"status": "DELETING"}}}); err != nil {
		t.Fatal(err)
	}
	if err := account.api.Delete(path(project, "postgresql", id), nil); err != nil {
		t.Fatal(err)
	}
	account.await(t, id, "DELETING")
	if got, _, _, err := account.Find(t.Context(), "ovh_cloud_project_database", service, time.Time{}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if _, _, certain, err := account.Find(t.Context(), "ovh_cloud_project_kube", service, time.Time{}); certain || err != nil || CanFind("ovh_cloud_project_kube") {
		t.Errorf("it finds what it does not know: %v", err)
	}
}
