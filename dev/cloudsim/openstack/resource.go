package openstack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A resource contains the fields that all Neutron records have.
//
// https://docs.openstack.org/api-ref/network/v2/
type resource struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	ProjectID   string    `json:"project_id"`
	TenantID    string    `json:"tenant_id"`
	Tags        []string  `json:"tags"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	Revision    int       `json:"revision_number"`
}

func newResource(now time.Time) resource {
	now = now.Truncate(time.Second)
	return resource{ID: newID(), ProjectID: projectID, TenantID: projectID, Tags: []string{}, CreatedAt: now, UpdatedAt: now, Revision: 1}
}

// over returns old with the name and the description from r: a request can only change these.
func (r resource) over(old resource) resource {
	old.Name, old.Description = r.Name, r.Description
	return old
}

// touched is over for an existing record.
func (r resource) touched(old resource, now time.Time) resource {
	r = r.over(old)
	r.UpdatedAt = now.Truncate(time.Second)
	r.Revision++
	return r
}

// fitting returns the records that match the query, as Neutron's lists do: each parameter is a
// field, and several values of a field are alternatives.
//
// https://docs.openstack.org/api-ref/network/v2/#filtering-and-column-selection
func fitting[T any](records []T, query url.Values) ([]any, error) {
	found := []any{}
	for _, record := range records {
		data, err := json.Marshal(record)
		if err != nil {
			return nil, err
		}
		var fields map[string]any
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
		if fits(fields, query) {
			found = append(found, record)
		}
	}
	return found, nil
}

func fits(fields map[string]any, query url.Values) bool {
	for name, values := range query {
		switch name {
		case "fields", "sort_key", "sort_dir", "limit", "marker", "page_reverse":
			continue // there is one page of everything
		case "fixed_ips":
			if !slices.ContainsFunc(values, func(v string) bool { return hasFixedIP(fields, v) }) {
				return false
			}
			continue
		case "security_groups":
			groups, _ := fields[name].([]any)
			if !slices.ContainsFunc(values, func(v string) bool { return slices.Contains(groups, any(v)) }) {
				return false
			}
			continue
		case "tags":
			tags, _ := fields[name].([]any)
			for _, tag := range strings.Split(strings.Join(values, ","), ",") {
				if !slices.Contains(tags, any(tag)) {
					return false
				}
			}
			continue
		}
		if !slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(text(fields[name]), v) }) {
			return false
		}
	}
	return true
}

// hasFixedIP supports conditions such as ip_address=10.0.0.3 or subnet_id=…
func hasFixedIP(fields map[string]any, condition string) bool {
	name, value, _ := strings.Cut(condition, "=")
	all, _ := fields["fixed_ips"].([]any)
	return slices.ContainsFunc(all, func(one any) bool {
		ip, _ := one.(map[string]any)
		return ip[name] == value
	})
}

// text returns a field as a query writes it.
func text(field any) string {
	if field == nil {
		return ""
	}
	return fmt.Sprint(field)
}

// network adds Neutron: https://docs.openstack.org/api-ref/network/v2/
func (c *Cloud) network() {
	add := func(pattern string, f endpoint) {
		method, path, _ := strings.Cut(pattern, " ")
		c.handle(method+" /network/v2.0/"+path, f, failNeutron)
	}
	add("GET extensions", c.listExtensions)
	add("GET extensions/{alias}", c.showExtension)

	add("GET networks", c.listNetworks)
	add("POST networks", c.createNetwork)
	add("GET networks/{id}", c.showNetwork)
	add("PUT networks/{id}", c.updateNetwork)
	add("DELETE networks/{id}", c.deleteNetwork)

	add("GET subnets", c.listSubnets)
	add("POST subnets", c.createSubnet)
	add("GET subnets/{id}", c.showSubnet)
	add("PUT subnets/{id}", c.updateSubnet)
	add("DELETE subnets/{id}", c.deleteSubnet)

	add("GET ports", c.listPorts)
	add("POST ports", c.createPort)
	add("GET ports/{id}", c.showPort)
	add("PUT ports/{id}", c.updatePort)
	add("DELETE ports/{id}", c.deletePort)

	add("GET security-groups", c.listSecurityGroups)
	add("POST security-groups", c.createSecurityGroup)
	add("GET security-groups/{id}", c.showSecurityGroup)
	add("PUT security-groups/{id}", c.updateSecurityGroup)
	add("DELETE security-groups/{id}", c.deleteSecurityGroup)

	add("GET security-group-rules", c.listRules)
	add("POST security-group-rules", c.createRule)
	add("GET security-group-rules/{id}", c.showRule)
	add("DELETE security-group-rules/{id}", c.deleteRule)

	add("GET routers", c.listRouters)
	add("POST routers", c.createRouter)
	add("GET routers/{id}", c.showRouter)
	add("PUT routers/{id}", c.updateRouter)
	add("DELETE routers/{id}", c.deleteRouter)
	add("PUT routers/{id}/add_router_interface", c.addRouterInterface)
	add("PUT routers/{id}/remove_router_interface", c.removeRouterInterface)

	add("GET floatingips", c.listFloatingIPs)
	add("POST floatingips", c.createFloatingIP)
	add("GET floatingips/{id}", c.showFloatingIP)
	add("PUT floatingips/{id}", c.updateFloatingIP)
	add("DELETE floatingips/{id}", c.deleteFloatingIP)

	add("GET {kind}/{id}/tags", c.listTags)
	add("PUT {kind}/{id}/tags", c.replaceTags)
}

// listed is the response for a list.
func listed[T any](q call, key string, k kind[T]) (int, any, error) {
	all, err := k.where(q.tx, nil)
	if err != nil {
		return 0, nil, err
	}
	found, err := fitting(all, q.URL.Query())
	return http.StatusOK, map[string]any{key: found}, err
}

// one returns the record in the path, or a not-found error; what is Neutron's name for its kind.
func one[T any](q call, k kind[T], what string) (T, error) {
	return byID(q, k, what, q.PathValue("id"))
}

func byID[T any](q call, k kind[T], what, id string) (T, error) {
	record, ok, err := k.get(q.tx, id)
	if err == nil && !ok {
		err = missing(what+"NotFound", "%s %s could not be found.", what, id)
	}
	return record, err
}
