package openstack

import (
	"net/http"
	"time"

	bolt "go.etcd.io/bbolt"
)

// ExtNet is the public network; OVH uses this name in every region. It belongs to another project:
// nobody here can change it.
const (
	ExtNet    = "Ext-Net"
	extNetID  = "6011fbc9-4cbf-46a4-8452-6890a340b60b"
	extNetID4 = "f45b6fdb-7ec4-4b0b-9e1d-9c1a0b1f4a11"
	extNetID6 = "0a6f9a2e-0f6b-4d6e-8b9b-6a2f5c7d8e12"
	elsewhere = "ffffffffffffffffffffffffffffffff" // the project of the cloud's operator
)

// https://docs.openstack.org/api-ref/network/v2/#networks
type network struct {
	resource
	Status                string   `json:"status"`
	AdminStateUp          bool     `json:"admin_state_up"`
	Shared                bool     `json:"shared"`
	External              bool     `json:"router:external"`
	Subnets               []string `json:"subnets"` // filled in by view
	MTU                   int      `json:"mtu"`
	PortSecurityEnabled   bool     `json:"port_security_enabled"`
	DNSDomain             string   `json:"dns_domain"`
	AvailabilityZones     []string `json:"availability_zones"`
	AvailabilityZoneHints []string `json:"availability_zone_hints"`
	IPv4AddressScope      *string  `json:"ipv4_address_scope"`
	IPv6AddressScope      *string  `json:"ipv6_address_scope"`
}

// furnishNetwork creates the public network. Its addresses are reserved for documentation by RFC
// 5737 and RFC 3849.
func furnishNetwork(tx *bolt.Tx) error {
	if _, ok, err := networks.get(tx, extNetID); err != nil || ok {
		return err
	}
	n := newNetwork(time.Now().UTC())
	n.ID, n.Name, n.ProjectID, n.TenantID = extNetID, ExtNet, elsewhere, elsewhere
	n.Shared, n.External = true, true
	if err := networks.put(tx, n.ID, n); err != nil {
		return err
	}
	for id, cidr := range map[string]string{extNetID4: "203.0.113.0/24", extNetID6: "2001:db8::/64"} {
		s := newSubnet(time.Now().UTC())
		s.ID, s.ProjectID, s.TenantID, s.NetworkID, s.CIDR = id, elsewhere, elsewhere, extNetID, cidr
		if err := s.complete(true); err != nil {
			return err
		}
		if err := subnets.put(tx, s.ID, s); err != nil {
			return err
		}
	}
	return nil
}

func newNetwork(now time.Time) network {
	return network{
		resource: newResource(now), Status: "ACTIVE", AdminStateUp: true, MTU: 1500, PortSecurityEnabled: true,
		Subnets: []string{}, AvailabilityZones: []string{"nova"}, AvailabilityZoneHints: []string{},
	}
}

// view fills in what is stored in other records.
func (n *network) view(tx *bolt.Tx) error {
	parts, err := subnets.where(tx, func(s subnet) bool { return s.NetworkID == n.ID })
	n.Subnets = []string{}
	for _, s := range parts {
		n.Subnets = append(n.Subnets, s.ID)
	}
	return err
}

// https://docs.openstack.org/api-ref/network/v2/#list-networks
func (c *Cloud) listNetworks(q call) (int, any, error) {
	all, err := networks.where(q.tx, nil)
	for i := range all {
		if err == nil {
			err = all[i].view(q.tx)
		}
	}
	if err != nil {
		return 0, nil, err
	}
	found, err := fitting(all, q.URL.Query())
	return http.StatusOK, map[string]any{"networks": found}, err
}

// https://docs.openstack.org/api-ref/network/v2/#create-network
func (c *Cloud) createNetwork(q call) (int, any, error) {
	n := newNetwork(q.now)
	fresh := n
	if err := q.read("network", &n); err != nil {
		return 0, nil, err
	}
	if n.External || n.Shared {
		return 0, nil, forbidden("PolicyNotAuthorized", "(rule:create_network and (rule:create_network:shared and rule:create_network:router:external)) is disallowed by policy")
	}
	n.resource, n.Status = n.over(fresh.resource), fresh.Status
	return http.StatusCreated, map[string]any{"network": n}, networks.put(q.tx, n.ID, n)
}

// https://docs.openstack.org/api-ref/network/v2/#show-network-details
func (c *Cloud) showNetwork(q call) (int, any, error) {
	n, err := one(q, networks, "Network")
	if err == nil {
		err = n.view(q.tx)
	}
	return http.StatusOK, map[string]any{"network": n}, err
}

// ownNetwork returns the network in the path if this project may change it.
func (q call) ownNetwork(rule string) (network, error) {
	n, err := one(q, networks, "Network")
	if err == nil && n.ProjectID != projectID {
		err = forbidden("PolicyNotAuthorized", "rule:%s is disallowed by policy", rule)
	}
	return n, err
}

// https://docs.openstack.org/api-ref/network/v2/#update-network
func (c *Cloud) updateNetwork(q call) (int, any, error) {
	old, err := q.ownNetwork("update_network")
	if err != nil {
		return 0, nil, err
	}
	n := old
	if err := q.read("network", &n); err != nil {
		return 0, nil, err
	}
	n.resource, n.Status = n.touched(old.resource, q.now), old.Status
	if n.External || n.Shared {
		return 0, nil, forbidden("PolicyNotAuthorized", "rule:update_network is disallowed by policy")
	}
	if err := networks.put(q.tx, n.ID, n); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"network": n}, n.view(q.tx)
}

// deleteNetwork also deletes its subnets. It refuses a network on which somebody has a port.
//
// https://docs.openstack.org/api-ref/network/v2/#delete-network
func (c *Cloud) deleteNetwork(q call) (int, any, error) {
	n, err := q.ownNetwork("delete_network")
	if err != nil {
		return 0, nil, err
	}
	used, err := ports.where(q.tx, func(p port) bool { return p.NetworkID == n.ID })
	if err != nil {
		return 0, nil, err
	}
	if len(used) > 0 {
		return 0, nil, conflict("NetworkInUse", "Unable to complete operation on network %s. There are one or more ports still in use on the network.", n.ID)
	}
	if err := n.view(q.tx); err != nil {
		return 0, nil, err
	}
	for _, id := range n.Subnets {
		if err := subnets.remove(q.tx, id); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusNoContent, nil, networks.remove(q.tx, n.ID)
}
