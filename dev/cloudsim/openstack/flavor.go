package openstack

import (
	"net/http"
	"strings"
)

// A flavor is a server size.
//
// https://docs.openstack.org/api-ref/compute/#flavors
type flavor struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	VCPUs    int     `json:"vcpus"`
	RAM      int     `json:"ram"`  // MB
	Disk     int     `json:"disk"` // GB
	Swap     string  `json:"swap"` // empty: none
	Factor   float64 `json:"rxtx_factor"`
	Public   bool    `json:"os-flavor-access:is_public"`
	Disabled bool    `json:"OS-FLV-DISABLED:disabled"`
	Extra    int     `json:"OS-FLV-EXT-DATA:ephemeral"`
	Links    []any   `json:"links"`
}

// flavors have the names and sizes of OVH's: https://www.ovhcloud.com/en/public-cloud/prices/
var flavors = []flavor{
	size("d2-2", 1, 2000, 25), size("d2-4", 2, 4000, 50), size("d2-8", 4, 8000, 50),
	size("b3-8", 2, 8000, 50), size("b3-16", 4, 16000, 100), size("b3-32", 8, 32000, 200),
	size("c3-4", 2, 4000, 50), size("c3-8", 4, 8000, 100), size("r3-16", 2, 16000, 50),
}

func size(name string, vcpus, ram, disk int) flavor {
	id := "00000000-0000-4000-8000-" + strings.Repeat("0", 12-2*len(name)) // the same in every cloud
	for _, b := range []byte(name) {
		id += string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15])
	}
	return flavor{ID: id, Name: name, VCPUs: vcpus, RAM: ram, Disk: disk, Factor: 1, Public: true}
}

func flavorByID(id string) (flavor, bool) {
	for _, f := range flavors {
		if f.ID == id {
			return f, true
		}
	}
	return flavor{}, false
}

// https://docs.openstack.org/api-ref/compute/#list-flavors-with-details
func (c *Cloud) listFlavors(q call) (int, any, error) {
	list := []flavor{}
	for _, f := range flavors {
		f.Links = c.link(q, "flavors/"+f.ID)
		list = append(list, f)
	}
	return http.StatusOK, map[string]any{"flavors": list}, nil
}

// https://docs.openstack.org/api-ref/compute/#show-flavor-details
func (c *Cloud) showFlavor(q call) (int, any, error) {
	f, ok := flavorByID(q.PathValue("id"))
	if !ok {
		return 0, nil, missing("", "Flavor %s could not be found.", q.PathValue("id"))
	}
	f.Links = c.link(q, "flavors/"+f.ID)
	return http.StatusOK, map[string]any{"flavor": f}, nil
}

// https://docs.openstack.org/api-ref/compute/#list-extra-specs-for-a-flavor
func (c *Cloud) showExtraSpecs(q call) (int, any, error) {
	if _, ok := flavorByID(q.PathValue("id")); !ok {
		return 0, nil, missing("", "Flavor %s could not be found.", q.PathValue("id"))
	}
	return http.StatusOK, map[string]any{"extra_specs": map[string]string{}}, nil
}
