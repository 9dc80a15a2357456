package openstack

import (
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// A rule allows incoming or outgoing traffic; null means anything.
//
// https://docs.openstack.org/api-ref/network/v2/#security-group-rules-security-group-rules
type rule struct {
	ID                   string    `json:"id"`
	Description          string    `json:"description"`
	ProjectID            string    `json:"project_id"`
	TenantID             string    `json:"tenant_id"`
	CreatedAt            time.Time `json:"created_at"`
	UpdatedAt            time.Time `json:"updated_at"`
	Revision             int       `json:"revision_number"`
	SecurityGroupID      string    `json:"security_group_id"`
	Direction            string    `json:"direction"`
	EtherType            string    `json:"ethertype"`
	Protocol             *string   `json:"protocol"`
	PortRangeMin         *int      `json:"port_range_min"`
	PortRangeMax         *int      `json:"port_range_max"`
	RemoteIPPrefix       *string   `json:"remote_ip_prefix"`
	RemoteGroupID        *string   `json:"remote_group_id"`
	RemoteAddressGroupID *string   `json:"remote_address_group_id"`
}

func newRule(now time.Time) rule {
	r := newResource(now)
	return rule{ID: r.ID, ProjectID: r.ProjectID, TenantID: r.TenantID, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, EtherType: "IPv4"}
}

// https://docs.openstack.org/api-ref/network/v2/#list-security-group-rules
func (c *Cloud) listRules(q call) (int, any, error) { return listed(q, "security_group_rules", rules) }

// https://docs.openstack.org/api-ref/network/v2/#create-security-group-rule
func (c *Cloud) createRule(q call) (int, any, error) {
	r := newRule(q.now)
	fresh := r
	if err := q.read("security_group_rule", &r); err != nil {
		return 0, nil, err
	}
	r.ID, r.ProjectID, r.TenantID, r.CreatedAt, r.UpdatedAt, r.Revision = fresh.ID, fresh.ProjectID, fresh.TenantID, fresh.CreatedAt, fresh.UpdatedAt, 0
	if err := r.check(); err != nil {
		return 0, nil, err
	}
	if _, err := byID(q, securityGroups, "SecurityGroup", r.SecurityGroupID); err != nil {
		return 0, nil, err
	}
	if r.RemoteGroupID != nil {
		if _, err := byID(q, securityGroups, "SecurityGroup", *r.RemoteGroupID); err != nil {
			return 0, nil, err
		}
	}
	same, err := rules.where(q.tx, r.same)
	if err != nil {
		return 0, nil, err
	}
	if len(same) > 0 {
		return 0, nil, conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", same[0].ID)
	}
	return http.StatusCreated, map[string]any{"security_group_rule": r}, rules.put(q.tx, r.ID, r)
}

// check refuses an invalid rule, and normalises the others as Neutron does.
func (r *rule) check() error {
	if r.Direction != "ingress" && r.Direction != "egress" {
		return bad("Invalid input for direction. Reason: '%s' is not in ['ingress', 'egress'].", r.Direction)
	}
	if r.EtherType != "IPv4" && r.EtherType != "IPv6" {
		return bad("Security group rule for ethertype '%s' not supported. Allowed values are ['IPv4', 'IPv6'].", r.EtherType)
	}
	for _, p := range []**string{&r.Protocol, &r.RemoteIPPrefix, &r.RemoteGroupID, &r.RemoteAddressGroupID} {
		if *p != nil && **p == "" {
			*p = nil
		}
	}
	if r.Protocol != nil {
		*r.Protocol = strings.ToLower(*r.Protocol)
	}
	if r.PortRangeMin != nil || r.PortRangeMax != nil {
		if r.Protocol == nil {
			return bad("Must also specify protocol if port range is given.")
		}
		tcp := *r.Protocol == "tcp" || *r.Protocol == "udp"
		if tcp && (r.PortRangeMin == nil || r.PortRangeMax == nil || *r.PortRangeMin < 1 || *r.PortRangeMax > 65535 || *r.PortRangeMin > *r.PortRangeMax) {
			return bad("For TCP/UDP protocols, port_range_min must be <= port_range_max")
		}
	}
	if r.RemoteGroupID != nil && r.RemoteIPPrefix != nil {
		return bad("Only remote_ip_prefix or remote_group_id or remote address group id may be provided.")
	}
	if r.RemoteIPPrefix != nil {
		prefix, err := netip.ParsePrefix(*r.RemoteIPPrefix)
		if err != nil {
			return bad("Invalid input for remote_ip_prefix. Reason: '%s' is not a valid IP subnet.", *r.RemoteIPPrefix)
		}
		if prefix.Addr().Is4() != (r.EtherType == "IPv4") {
			return bad("Conflicting value ethertype %s for CIDR %s", r.EtherType, *r.RemoteIPPrefix)
		}
	}
	return nil
}

// same reports whether two rules allow the same traffic. Descriptions do not count.
func (r *rule) same(other rule) bool {
	other.ID, other.Description, other.CreatedAt, other.UpdatedAt, other.Revision = r.ID, r.Description, r.CreatedAt, r.UpdatedAt, r.Revision
	return reflect.DeepEqual(*r, other)
}

// https://docs.openstack.org/api-ref/network/v2/#show-security-group-rule
func (c *Cloud) showRule(q call) (int, any, error) {
	r, err := one(q, rules, "SecurityGroupRule")
	return http.StatusOK, map[string]any{"security_group_rule": r}, err
}

// https://docs.openstack.org/api-ref/network/v2/#delete-security-group-rule
func (c *Cloud) deleteRule(q call) (int, any, error) {
	r, err := one(q, rules, "SecurityGroupRule")
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, rules.remove(q.tx, r.ID)
}
