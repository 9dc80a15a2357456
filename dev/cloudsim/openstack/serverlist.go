package openstack

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// listServers responds with or without details, newest first.
//
// https://docs.openstack.org/api-ref/compute/#list-servers-detailed
func (c *Cloud) listServers(q call) (int, any, error) {
	query := q.URL.Query()
	name, err := regexp.Compile(query.Get("name"))
	if err != nil {
		return 0, nil, bad("Invalid input for query parameters name.")
	}
	found, err := servers.where(q.tx, func(s server) bool {
		same := func(key, value string) bool { return query.Get(key) == "" || strings.EqualFold(query.Get(key), value) }
		return name.MatchString(s.Name) && same("status", s.Status) && same("flavor", s.FlavorID) && same("image", s.ImageID) &&
			same("key_name", s.KeyName) && same("availability_zone", "nova") &&
			(query.Get("tags") == "" || fits(map[string]any{"tags": anys(s.Tags)}, map[string][]string{"tags": query["tags"]}))
	})
	if err != nil {
		return 0, nil, err
	}
	slices.SortStableFunc(found, func(a, b server) int { return b.Created.Compare(a.Created) })
	list := []any{}
	for _, s := range found {
		own, err := s.ports(q)
		if err != nil {
			return 0, nil, err
		}
		if !hasAddress(own, query.Get("ip")) || !hasAddress(own, query.Get("ip6")) {
			continue
		}
		v := map[string]any{"id": s.ID, "name": s.Name, "links": c.link(q, "servers/"+s.ID)}
		if strings.HasSuffix(q.URL.Path, "/detail") {
			if v, err = c.view(q, s); err != nil {
				return 0, nil, err
			}
		}
		list = append(list, v)
	}
	return http.StatusOK, map[string]any{"servers": list}, nil
}

func anys(list []string) []any {
	all := []any{}
	for _, one := range list {
		all = append(all, one)
	}
	return all
}

// hasAddress reports whether an address matches the regular expression.
func hasAddress(own []port, expression string) bool {
	e, err := regexp.Compile(expression)
	return expression == "" || err == nil && slices.ContainsFunc(own, func(p port) bool {
		return slices.ContainsFunc(p.FixedIPs, func(ip fixedIP) bool { return e.MatchString(ip.IPAddress) })
	})
}
