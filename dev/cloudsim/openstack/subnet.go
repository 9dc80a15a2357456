package openstack

import (
	"net/http"
	"net/netip"
	"time"

	bolt "go.etcd.io/bbolt"
)

// https://docs.openstack.org/api-ref/network/v2/#subnets
type subnet struct {
	resource
	NetworkID         string   `json:"network_id"`
	IPVersion         int      `json:"ip_version"`
	CIDR              string   `json:"cidr"`
	GatewayIP         *string  `json:"gateway_ip"` // nil: none
	EnableDHCP        bool     `json:"enable_dhcp"`
	AllocationPools   []pool   `json:"allocation_pools"`
	DNSNameservers    []string `json:"dns_nameservers"`
	DNSPublishFixedIP bool     `json:"dns_publish_fixed_ip"`
	HostRoutes        []route  `json:"host_routes"`
	ServiceTypes      []string `json:"service_types"`
	IPv6AddressMode   *string  `json:"ipv6_address_mode"`
	IPv6RAMode        *string  `json:"ipv6_ra_mode"`
	SubnetpoolID      *string  `json:"subnetpool_id"`
	SegmentID         *string  `json:"segment_id"`
}

type pool struct {
	Start netip.Addr `json:"start"`
	End   netip.Addr `json:"end"`
}

type route struct {
	Destination string `json:"destination"`
	Nexthop     string `json:"nexthop"`
}

func newSubnet(now time.Time) subnet {
	return subnet{
		resource: newResource(now), EnableDHCP: true, AllocationPools: []pool{}, DNSNameservers: []string{},
		HostRoutes: []route{}, ServiceTypes: []string{},
	}
}

// https://docs.openstack.org/api-ref/network/v2/#list-subnets
func (c *Cloud) listSubnets(q call) (int, any, error) { return listed(q, "subnets", subnets) }

// https://docs.openstack.org/api-ref/network/v2/#create-subnet
func (c *Cloud) createSubnet(q call) (int, any, error) {
	s, asked := newSubnet(q.now), struct {
		GatewayIP *string `json:"gateway_ip"`
		Version   int     `json:"ip_version"`
	}{new(string), 0}
	fresh := s.resource
	if err := q.read("subnet", &s); err != nil {
		return 0, nil, err
	}
	if err := q.read("subnet", &asked); err != nil {
		return 0, nil, err
	}
	s.resource = s.over(fresh)
	n, err := byID(q, networks, "Network", s.NetworkID)
	if err != nil {
		return 0, nil, err
	}
	if n.ProjectID != projectID {
		return 0, nil, forbidden("PolicyNotAuthorized", "rule:create_subnet is disallowed by policy")
	}
	// null means no gateway; a missing field means the default gateway.
	if err := s.complete(asked.GatewayIP != nil); err != nil {
		return 0, nil, err
	}
	if asked.Version != s.IPVersion {
		return 0, nil, bad("Invalid input for operation: ip_version %d and cidr %s do not fit.", asked.Version, s.CIDR)
	}
	if err := s.overlaps(q.tx); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{"subnet": s}, subnets.put(q.tx, s.ID, s)
}

// overlaps refuses a subnet that overlaps with another subnet of its network.
func (s *subnet) overlaps(tx *bolt.Tx) error {
	prefix := netip.MustParsePrefix(s.CIDR)
	others, err := subnets.where(tx, func(o subnet) bool {
		return o.NetworkID == s.NetworkID && o.ID != s.ID && netip.MustParsePrefix(o.CIDR).Overlaps(prefix)
	})
	if err == nil && len(others) > 0 {
		err = bad("Invalid input for operation: Requested subnet with cidr: %s for network: %s overlaps with another subnet.", s.CIDR, s.NetworkID)
	}
	return err
}

// https://docs.openstack.org/api-ref/network/v2/#show-subnet-details
func (c *Cloud) showSubnet(q call) (int, any, error) {
	s, err := one(q, subnets, "Subnet")
	return http.StatusOK, map[string]any{"subnet": s}, err
}

func (q call) ownSubnet(rule string) (subnet, error) {
	s, err := one(q, subnets, "Subnet")
	if err == nil && s.ProjectID != projectID {
		err = forbidden("PolicyNotAuthorized", "rule:%s is disallowed by policy", rule)
	}
	return s, err
}

// https://docs.openstack.org/api-ref/network/v2/#update-subnet
func (c *Cloud) updateSubnet(q call) (int, any, error) {
	old, err := q.ownSubnet("update_subnet")
	if err != nil {
		return 0, nil, err
	}
	s := old
	s.AllocationPools = nil // decoding would overwrite the old list
	if err := q.read("subnet", &s); err != nil {
		return 0, nil, err
	}
	if s.AllocationPools == nil {
		s.AllocationPools = old.AllocationPools
	}
	s.resource, s.NetworkID, s.CIDR = s.touched(old.resource, q.now), old.NetworkID, old.CIDR
	if err := s.complete(false); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"subnet": s}, subnets.put(q.tx, s.ID, s)
}

// https://docs.openstack.org/api-ref/network/v2/#delete-subnet
func (c *Cloud) deleteSubnet(q call) (int, any, error) {
	s, err := q.ownSubnet("delete_subnet")
	if err != nil {
		return 0, nil, err
	}
	used, err := ports.where(q.tx, func(p port) bool { return p.in(s.ID) })
	if err != nil {
		return 0, nil, err
	}
	if len(used) > 0 {
		return 0, nil, conflict("SubnetInUse", "Unable to complete operation on subnet %s: One or more ports have an IP allocation from this subnet.", s.ID)
	}
	return http.StatusNoContent, nil, subnets.remove(q.tx, s.ID)
}
