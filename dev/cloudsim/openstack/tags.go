package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
)

// taggable returns the tags of the object in the path, and a function that stores it with new tags.
func taggable(q call) (tags []string, store func([]string) error, err error) {
	switch q.PathValue("kind") {
	case "networks":
		return tagged(q, networks, "Network", func(n *network) *resource { return &n.resource })
	case "subnets":
		return tagged(q, subnets, "Subnet", func(s *subnet) *resource { return &s.resource })
	case "ports":
		return tagged(q, ports, "Port", func(p *port) *resource { return &p.resource })
	case "security-groups":
		return tagged(q, securityGroups, "SecurityGroup", func(g *securityGroup) *resource { return &g.resource })
	case "routers":
		return tagged(q, routers, "Router", func(r *router) *resource { return &r.resource })
	case "floatingips":
		return tagged(q, floatingIPs, "FloatingIP", func(f *floatingIP) *resource { return &f.resource })
	}
	return nil, nil, missing("HTTPNotFound", "The resource could not be found.")
}

func tagged[T any](q call, k kind[T], what string, part func(*T) *resource) ([]string, func([]string) error, error) {
	record, err := one(q, k, what)
	if err != nil {
		return nil, nil, err
	}
	r := part(&record)
	return r.Tags, func(tags []string) error {
		*r = r.touched(*r, q.now)
		r.Tags = tags
		return k.put(q.tx, r.ID, record)
	}, nil
}

// https://docs.openstack.org/api-ref/network/v2/#list-tags
func (c *Cloud) listTags(q call) (int, any, error) {
	tags, _, err := taggable(q)
	return http.StatusOK, map[string]any{"tags": tags}, err
}

// https://docs.openstack.org/api-ref/network/v2/#replace-all-tags
func (c *Cloud) replaceTags(q call) (int, any, error) {
	var asked struct {
		Tags []string `json:"tags"`
	}
	if json.Unmarshal(q.body, &asked) != nil || asked.Tags == nil {
		return 0, nil, bad("Invalid input for tags.")
	}
	_, store, err := taggable(q)
	if err != nil {
		return 0, nil, err
	}
	slices.Sort(asked.Tags)
	asked.Tags = slices.Compact(asked.Tags)
	return http.StatusOK, map[string]any{"tags": asked.Tags}, store(asked.Tags)
}
