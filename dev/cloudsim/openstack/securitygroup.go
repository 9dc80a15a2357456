package openstack

import (
	"net/http"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// defaultGroupID is the group of ports for which no other group was requested.
const defaultGroupID = "dddddddd-0000-4000-8000-000000000001"

// https://docs.openstack.org/api-ref/network/v2/#security-groups-security-groups
type securityGroup struct {
	resource
	Stateful bool `json:"stateful"`
	Shared   bool `json:"shared"`
}

// A securityGroupView is a group with its rules, as Neutron shows it.
type securityGroupView struct {
	securityGroup
	Rules []rule `json:"security_group_rules"`
}

func (g securityGroup) view(tx *bolt.Tx) (securityGroupView, error) {
	own, err := rules.where(tx, func(r rule) bool { return r.SecurityGroupID == g.ID })
	return securityGroupView{g, own}, err
}

// furnishSecurityGroup creates the group default, which allows traffic from its own members.
func furnishSecurityGroup(tx *bolt.Tx) error {
	if _, ok, err := securityGroups.get(tx, defaultGroupID); err != nil || ok {
		return err
	}
	g := securityGroup{resource: newResource(time.Now().UTC()), Stateful: true}
	g.ID, g.Name, g.Description = defaultGroupID, "default", "Default security group"
	if err := g.create(tx, g.CreatedAt); err != nil {
		return err
	}
	for _, version := range []string{"IPv4", "IPv6"} {
		r := newRule(g.CreatedAt)
		r.SecurityGroupID, r.Direction, r.EtherType, r.RemoteGroupID = g.ID, "ingress", version, &g.ID
		if err := rules.put(tx, r.ID, r); err != nil {
			return err
		}
	}
	return nil
}

// create stores a group with the rules of every new group: all outgoing traffic is allowed.
func (g securityGroup) create(tx *bolt.Tx, now time.Time) error {
	for _, version := range []string{"IPv4", "IPv6"} {
		r := newRule(now)
		r.SecurityGroupID, r.Direction, r.EtherType = g.ID, "egress", version
		if err := rules.put(tx, r.ID, r); err != nil {
			return err
		}
	}
	return securityGroups.put(tx, g.ID, g)
}

// https://docs.openstack.org/api-ref/network/v2/#list-security-groups
func (c *Cloud) listSecurityGroups(q call) (int, any, error) {
	all, err := securityGroups.where(q.tx, nil)
	if err != nil {
		return 0, nil, err
	}
	views := make([]securityGroupView, len(all))
	for i, g := range all {
		if views[i], err = g.view(q.tx); err != nil {
			return 0, nil, err
		}
	}
	found, err := fitting(views, q.URL.Query())
	return http.StatusOK, map[string]any{"security_groups": found}, err
}

// https://docs.openstack.org/api-ref/network/v2/#create-security-group
func (c *Cloud) createSecurityGroup(q call) (int, any, error) {
	g := securityGroup{resource: newResource(q.now), Stateful: true}
	fresh := g.resource
	if err := q.read("security_group", &g); err != nil {
		return 0, nil, err
	}
	g.resource = g.over(fresh)
	if g.Name == "default" {
		return 0, nil, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	if err := g.create(q.tx, q.now); err != nil {
		return 0, nil, err
	}
	v, err := g.view(q.tx)
	return http.StatusCreated, map[string]any{"security_group": v}, err
}

// https://docs.openstack.org/api-ref/network/v2/#show-security-group
func (c *Cloud) showSecurityGroup(q call) (int, any, error) {
	g, err := one(q, securityGroups, "SecurityGroup")
	if err != nil {
		return 0, nil, err
	}
	v, err := g.view(q.tx)
	return http.StatusOK, map[string]any{"security_group": v}, err
}

// https://docs.openstack.org/api-ref/network/v2/#update-security-group
func (c *Cloud) updateSecurityGroup(q call) (int, any, error) {
	old, err := one(q, securityGroups, "SecurityGroup")
	if err != nil {
		return 0, nil, err
	}
	g := old
	if err := q.read("security_group", &g); err != nil {
		return 0, nil, err
	}
	g.resource = g.touched(old.resource, q.now)
	if old.ID == defaultGroupID && g.Name != old.Name {
		return 0, nil, conflict("SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
	}
	if err := securityGroups.put(q.tx, g.ID, g); err != nil {
		return 0, nil, err
	}
	v, err := g.view(q.tx)
	return http.StatusOK, map[string]any{"security_group": v}, err
}

// deleteSecurityGroup also deletes its rules, and the rules of other groups that refer to it.
//
// https://docs.openstack.org/api-ref/network/v2/#delete-security-group
func (c *Cloud) deleteSecurityGroup(q call) (int, any, error) {
	g, err := one(q, securityGroups, "SecurityGroup")
	if err != nil {
		return 0, nil, err
	}
	if g.ID == defaultGroupID {
		return 0, nil, conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	used, err := ports.where(q.tx, func(p port) bool { return slices.Contains(p.SecurityGroups, g.ID) })
	if err != nil {
		return 0, nil, err
	}
	if len(used) > 0 {
		return 0, nil, conflict("SecurityGroupInUse", "Security Group %s in use.", g.ID)
	}
	gone, err := rules.where(q.tx, func(r rule) bool {
		return r.SecurityGroupID == g.ID || r.RemoteGroupID != nil && *r.RemoteGroupID == g.ID
	})
	if err != nil {
		return 0, nil, err
	}
	for _, r := range gone {
		if err := rules.remove(q.tx, r.ID); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusNoContent, nil, securityGroups.remove(q.tx, g.ID)
}
