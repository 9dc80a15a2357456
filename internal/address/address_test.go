package address

import (
	"slices"
	"testing"
)

// Addresses are separated by commas; a quoted key may also contain commas.
func TestSplitAddresses(t *testing.T) {
	for text, want := range map[string][]string{
		"":                    nil,
		" , ":                 nil,
		"a.b":                 {"a.b"},
		"c.d , a.b,a.b":       {"a.b", "c.d"},
		`a["x,y"],b`:          {`a["x,y"]`, "b"},
		`a["x\",y"],b`:        {`a["x\",y"]`, "b"},
		`a["x\\"],b`:          {`a["x\\"]`, "b"},
		`a\,b`:                {"b", `a\`},
		"module.a[0].b.c,d.e": {"d.e", "module.a[0].b.c"},
	} {
		slices.Sort(want)
		if got, err := Split("--seen", text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// What is sorted is a copy: a manifest keeps its order.
func TestSorted(t *testing.T) {
	list := []string{"c", "a", "b", "a"}
	if got := Sorted(list); !slices.Equal(got, []string{"a", "b", "c"}) || !slices.Equal(list, []string{"c", "a", "b", "a"}) {
		t.Errorf("%q of %q", got, list)
	}
}

// An address is asked for its type by its parts.
func TestOfType(t *testing.T) {
	for at, want := range map[string]bool{
		"openstack_compute_instance_v2.host":                      true,
		`module.a["x.y"].openstack_compute_instance_v2.host["z"]`: true,
		"terraform_data.openstack":                                false,
		"module.openstack_compute_instance.x.y":                   false,
		"ovh_cloud_project_database.postgresql":                   true,
	} {
		if got := OfType(at, func(kind string) bool {
			return kind == "openstack_compute_instance_v2" || kind == "ovh_cloud_project_database"
		}); got != want {
			t.Errorf("%s: %v", at, got)
		}
	}
}
