package openstack

import (
	"net/http"
	"strconv"
	"strings"
)

// compute is Nova: https://docs.openstack.org/api-ref/compute/
func (c *Cloud) compute() {
	add := func(pattern string, f endpoint) {
		method, path, _ := strings.Cut(pattern, " ")
		c.handle(method+" /compute/v2.1/"+path, checked(f), failNova)
	}
	add("GET os-keypairs", c.listKeypairs)
	add("POST os-keypairs", c.createKeypair)
	add("GET os-keypairs/{name}", c.showKeypair)
	add("DELETE os-keypairs/{name}", c.deleteKeypair)

	add("GET flavors", c.listFlavors)
	add("GET flavors/detail", c.listFlavors)
	add("GET flavors/{id}", c.showFlavor)
	add("GET flavors/{id}/os-extra_specs", c.showExtraSpecs)

	add("GET servers", c.listServers)
	add("GET servers/detail", c.listServers)
	add("POST servers", c.createServer)
	add("GET servers/{id}", c.showServer)
	add("PUT servers/{id}", c.updateServer)
	add("DELETE servers/{id}", c.deleteServer)
	add("POST servers/{id}/action", c.act)

	add("GET servers/{id}/metadata", c.showMetadata)
	add("POST servers/{id}/metadata", c.updateMetadata)
	add("PUT servers/{id}/metadata", c.replaceMetadata)
	add("DELETE servers/{id}/metadata/{key}", c.deleteMetadatum)
	add("GET servers/{id}/tags", c.listServerTags)
	add("PUT servers/{id}/tags", c.replaceServerTags)
	add("GET servers/{id}/ips", c.listAddresses)
	add("GET servers/{id}/os-security-groups", c.listServerGroups)
	add("GET servers/{id}/os-volume_attachments", c.listVolumes)
	add("GET servers/{id}/os-interface", c.listInterfaces)
	add("POST servers/{id}/os-interface", c.createInterface)
	add("GET servers/{id}/os-interface/{port}", c.showInterface)
	add("DELETE servers/{id}/os-interface/{port}", c.deleteInterface)

	add("GET limits", c.showLimits)
	add("GET os-quota-sets/{project}", c.showQuota)
	add("PUT os-quota-sets/{project}", c.updateQuota)
	add("GET os-availability-zone", c.listZones)
}

// checked refuses an unsupported microversion.
func checked(f endpoint) endpoint {
	return func(q call) (int, any, error) {
		newest, _ := strconv.Atoi(strings.TrimPrefix(newestMicroversion, "2."))
		if v := q.microversion(); v > newest {
			return 0, nil, refusal{status: http.StatusNotAcceptable, message: "Version 2." + strconv.Itoa(v) + " is not supported by the API. Minimum is " + oldestMicroversion + " and maximum is " + newestMicroversion + "."}
		}
		return f(q)
	}
}

// microversion returns the requested microversion without its leading 2. The default is the oldest.
//
// https://docs.openstack.org/api-guide/compute/microversions.html
func (q call) microversion() int {
	asked, ok := strings.CutPrefix(q.Header.Get("OpenStack-API-Version"), "compute ")
	if !ok {
		asked = q.Header.Get("X-OpenStack-Nova-API-Version")
	}
	if asked == "latest" {
		asked = newestMicroversion
	}
	minor, err := strconv.Atoi(strings.TrimPrefix(asked, "2."))
	if err != nil {
		return 1
	}
	return minor
}

// link returns a reference as Nova writes it.
func (c *Cloud) link(q call, path string) []any {
	return []any{map[string]string{"rel": "self", "href": "http://" + q.Host + c.prefix + "/compute/v2.1/" + path}}
}

// https://docs.openstack.org/api-ref/compute/#get-availability-zone-information
func (c *Cloud) listZones(call) (int, any, error) {
	return http.StatusOK, map[string]any{"availabilityZoneInfo": []any{
		map[string]any{"zoneName": "nova", "zoneState": map[string]bool{"available": true}, "hosts": nil},
	}}, nil
}
