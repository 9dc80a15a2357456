package openstack

import (
	"net/http"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// https://docs.openstack.org/api-ref/network/v2/#floating-ips-floatingips
type floatingIP struct {
	resource
	Status            string  `json:"status"` // ACTIVE on a port, DOWN otherwise
	FloatingNetworkID string  `json:"floating_network_id"`
	FloatingIP        string  `json:"floating_ip_address"`
	FixedIP           *string `json:"fixed_ip_address"`
	PortID            *string `json:"port_id"`
	RouterID          *string `json:"router_id"`
	DNSName           string  `json:"dns_name"`
	DNSDomain         string  `json:"dns_domain"`
}

// https://docs.openstack.org/api-ref/network/v2/#list-floating-ips
func (c *Cloud) listFloatingIPs(q call) (int, any, error) {
	return listed(q, "floatingips", floatingIPs)
}

// https://docs.openstack.org/api-ref/network/v2/#create-floating-ip
func (c *Cloud) createFloatingIP(q call) (int, any, error) {
	f := floatingIP{resource: newResource(q.now)}
	fresh := f.resource
	if err := q.read("floatingip", &f); err != nil {
		return 0, nil, err
	}
	f.resource = f.over(fresh)
	n, err := byID(q, networks, "Network", f.FloatingNetworkID)
	if err != nil {
		return 0, nil, err
	}
	if !n.External {
		return 0, nil, bad("Network %s is not a valid external network", n.ID)
	}
	// The address belongs to a hidden port. The floating IP has the port's ID.
	p := newPort(q.now)
	p.ID, p.ProjectID, p.TenantID = f.ID, "", ""
	p.NetworkID, p.DeviceID, p.DeviceOwner, p.MACAddress = n.ID, f.ID, ownerOfIP, newMAC()
	var asked []fixedIP
	if f.FloatingIP != "" {
		asked = []fixedIP{{IPAddress: f.FloatingIP}}
	}
	if err := p.allocate(q.tx, asked); err != nil {
		return 0, nil, err
	}
	f.FloatingIP, p.FixedIPs = p.FixedIPs[0].IPAddress, p.FixedIPs[:1]
	if err := ports.put(q.tx, p.ID, p); err != nil {
		return 0, nil, err
	}
	if err := f.associate(q); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{"floatingip": f}, nil
}

// associate looks up f's port, if any, and stores f.
func (f *floatingIP) associate(q call) error {
	f.RouterID, f.Status = nil, "DOWN"
	if f.PortID == nil || *f.PortID == "" {
		f.PortID, f.FixedIP = nil, nil
		return floatingIPs.put(q.tx, f.ID, *f)
	}
	p, err := byID(q, ports, "Port", *f.PortID)
	if err != nil {
		return err
	}
	taken, err := floatingIPs.where(q.tx, func(o floatingIP) bool { return o.ID != f.ID && o.PortID != nil && *o.PortID == p.ID })
	if err != nil {
		return err
	}
	if len(taken) > 0 {
		return conflict("FloatingIPPortAlreadyAssociated", "Cannot associate floating IP %s with port %s using fixed IP, as that fixed IP already has a floating IP on external network %s.", f.FloatingIP, p.ID, f.FloatingNetworkID)
	}
	for _, ip := range p.FixedIPs {
		inside, err := ports.where(q.tx, func(o port) bool { return o.DeviceOwner == routerOwner && o.in(ip.SubnetID) })
		if err != nil {
			return err
		}
		if len(inside) > 0 && !strings.Contains(ip.IPAddress, ":") {
			f.RouterID, f.FixedIP, f.Status = &inside[0].DeviceID, &ip.IPAddress, "ACTIVE"
			return floatingIPs.put(q.tx, f.ID, *f)
		}
	}
	return missing("ExternalGatewayForFloatingIPNotFound", "External network %s is not reachable from port %s. Cannot associate it with a Floating IP.", f.FloatingNetworkID, p.ID)
}

// releaseFloatingIPs removes the floating IPs from a port that is being deleted.
func releaseFloatingIPs(tx *bolt.Tx, portID string) error {
	own, err := floatingIPs.where(tx, func(f floatingIP) bool { return f.PortID != nil && *f.PortID == portID })
	for _, f := range own {
		f.PortID, f.FixedIP, f.RouterID, f.Status = nil, nil, nil, "DOWN"
		if err == nil {
			err = floatingIPs.put(tx, f.ID, f)
		}
	}
	return err
}

// https://docs.openstack.org/api-ref/network/v2/#show-floating-ip-details
func (c *Cloud) showFloatingIP(q call) (int, any, error) {
	f, err := one(q, floatingIPs, "FloatingIP")
	return http.StatusOK, map[string]any{"floatingip": f}, err
}

// https://docs.openstack.org/api-ref/network/v2/#update-floating-ip
func (c *Cloud) updateFloatingIP(q call) (int, any, error) {
	old, err := one(q, floatingIPs, "FloatingIP")
	if err != nil {
		return 0, nil, err
	}
	f := old
	f.PortID = nil // as in Neutron: an update without a port removes it
	if err := q.read("floatingip", &f); err != nil {
		return 0, nil, err
	}
	f.resource = f.touched(old.resource, q.now)
	f.FloatingNetworkID, f.FloatingIP = old.FloatingNetworkID, old.FloatingIP
	if err := f.associate(q); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"floatingip": f}, nil
}

// https://docs.openstack.org/api-ref/network/v2/#delete-floating-ip
func (c *Cloud) deleteFloatingIP(q call) (int, any, error) {
	f, err := one(q, floatingIPs, "FloatingIP")
	if err != nil {
		return 0, nil, err
	}
	if err := ports.remove(q.tx, f.ID); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, floatingIPs.remove(q.tx, f.ID)
}
