package openstack

import "net/http"

// The announced microversions of Nova. Only the differences that our clients notice are
// implemented: see microversion.
const (
	oldestMicroversion = "2.1"
	newestMicroversion = "2.90"
)

// versions adds the documents in which clients look up a service's versions. They need no token.
//
// https://docs.openstack.org/api-guide/compute/versions.html
func (c *Cloud) versions() {
	document := func(path, id, status, oldest, newest, self string, many bool) {
		c.mux.HandleFunc("GET "+c.prefix+path+"{$}", func(w http.ResponseWriter, r *http.Request) {
			version := map[string]any{
				"id": id, "status": status, "min_version": oldest, "version": newest, "updated": "2013-07-23T11:33:21Z",
				"links": []any{map[string]string{"rel": "self", "href": "http://" + r.Host + c.prefix + self}},
			}
			if many {
				reply(w, http.StatusOK, map[string]any{"versions": []any{version}})
				return
			}
			reply(w, http.StatusOK, map[string]any{"version": version})
		})
	}
	document("/identity/v3/", "v3.14", "stable", "", "", "/identity/v3/", false)
	document("/compute/", "v2.1", "CURRENT", oldestMicroversion, newestMicroversion, "/compute/v2.1/", true)
	document("/compute/v2.1/", "v2.1", "CURRENT", oldestMicroversion, newestMicroversion, "/compute/v2.1/", false)
	document("/network/", "v2.0", "CURRENT", "", "", "/network/v2.0/", true)
	document("/image/", "v2.9", "CURRENT", "", "", "/image/v2/", true)
}
