package stage

import "testing"

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
		"nothing known":       {wish{"ovh_cloud_project_database", nil}, "//1", false},
	} {
		if got, ok := importID(c.w, "1"); got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

func TestOfKind(t *testing.T) {
	for address, want := range map[string]bool{
		"openstack_compute_instance_v2.host":                      true,
		`module.a["x.y"].openstack_compute_instance_v2.host["z"]`: true,
		"terraform_data.openstack":                                false,
		"module.openstack_compute_instance.x.y":                   false,
		"ovh_cloud_project_database.postgresql":                   true,
	} {
		if got := ofKind(address, canFind); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
