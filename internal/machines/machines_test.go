package machines

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-json"

	"slipway/internal/must"
	"slipway/internal/testkit"
)

// Servers and databases are found by the type of their resource, each with what the clouds' APIs ask for.
func TestIn(t *testing.T) {
	resource := func(kind string, values map[string]any) *tfjson.StateResource {
		return &tfjson.StateResource{Type: kind, AttributeValues: values}
	}
	servers, databases := In(map[string]*tfjson.StateResource{
		"b.web": resource("openstack_compute_instance_v2", map[string]any{"id": "2", "name": "test-web"}),
		"a.db":  resource("openstack_compute_instance_v2", map[string]any{"id": "1", "name": "test-db"}),
		"c.sql": resource("ovh_cloud_project_database", map[string]any{"id": "3", "description": "test-sql", "service_name": "project", "engine": "postgresql"}),
		"d.net": resource("openstack_networking_network_v2", map[string]any{"id": "4", "name": "test-net"}),
	})
	want := [][]Machine{
		{{Address: "a.db", ID: "1", Name: "test-db"}, {Address: "b.web", ID: "2", Name: "test-web"}},
		{{Address: "c.sql", ID: "3", Name: "test-sql", Project: "project", Engine: "postgresql"}},
	}
	if diff := cmp.Diff(want, [][]Machine{servers, databases}); diff != "" {
		t.Error(diff)
	}
}

// Without the states, no machine is known.
func TestOfFails(t *testing.T) {
	testkit.WithoutTofu(t)
	d := testkit.New(t)
	d.WithCode("")
	_, _, err := Of(t.Context(), d.Opened())
	must.NotStarted(t, err, "init")
}
