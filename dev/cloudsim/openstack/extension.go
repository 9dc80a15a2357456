package openstack

import (
	"net/http"
	"slices"
)

// extensions are the cloud's capabilities beyond the core. Clients look some of them up before they
// use a field.
var extensions = []string{
	"security-group", "external-net", "router", "allowed-address-pairs", "port-security", "net-mtu", "quotas", "binding",
	"standard-attr-tag", "standard-attr-description", "standard-attr-timestamp", "standard-attr-revisions", "project-id",
	"network_availability_zone", "dns-integration",
}

func extension(alias string) map[string]any {
	return map[string]any{"alias": alias, "name": alias, "description": "", "links": []any{}, "updated": "2013-02-03T10:00:00-00:00"}
}

// https://docs.openstack.org/api-ref/network/v2/#list-extensions
func (c *Cloud) listExtensions(call) (int, any, error) {
	list := []any{}
	for _, alias := range extensions {
		list = append(list, extension(alias))
	}
	return http.StatusOK, map[string]any{"extensions": list}, nil
}

// https://docs.openstack.org/api-ref/network/v2/#show-extension-details
func (c *Cloud) showExtension(q call) (int, any, error) {
	alias := q.PathValue("alias")
	if !slices.Contains(extensions, alias) {
		return 0, nil, missing("ExtensionNotFound", "Extension with alias %s does not exist", alias)
	}
	return http.StatusOK, map[string]any{"extension": extension(alias)}, nil
}
