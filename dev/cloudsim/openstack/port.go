package openstack

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A port's owner says to whom it belongs: Nova's owners begin with compute:, Neutron's own with
// network:.
const (
	computeOwner = "compute:nova"
	routerOwner  = "network:router_interface"
	ownerOfIP    = "network:floatingip"
)

// https://docs.openstack.org/api-ref/network/v2/#ports
type port struct {
	resource
	NetworkID           string        `json:"network_id"`
	Status              string        `json:"status"` // ACTIVE on a running server, DOWN otherwise
	AdminStateUp        bool          `json:"admin_state_up"`
	MACAddress          string        `json:"mac_address"`
	FixedIPs            []fixedIP     `json:"fixed_ips"`
	DeviceID            string        `json:"device_id"`
	DeviceOwner         string        `json:"device_owner"`
	SecurityGroups      []string      `json:"security_groups"`
	AllowedAddressPairs []addressPair `json:"allowed_address_pairs"`
	ExtraDHCPOpts       []any         `json:"extra_dhcp_opts"`
	PortSecurityEnabled bool          `json:"port_security_enabled"`
	VNICType            string        `json:"binding:vnic_type"`
	DNSName             string        `json:"dns_name"`
	DNSAssignment       []any         `json:"dns_assignment"`
}

type fixedIP struct {
	SubnetID  string `json:"subnet_id"`
	IPAddress string `json:"ip_address"`
}

type addressPair struct {
	IPAddress  string `json:"ip_address"`
	MACAddress string `json:"mac_address,omitempty"`
}

func newPort(now time.Time) port {
	return port{
		resource: newResource(now), Status: "DOWN", AdminStateUp: true, FixedIPs: []fixedIP{}, SecurityGroups: []string{},
		AllowedAddressPairs: []addressPair{}, ExtraDHCPOpts: []any{}, PortSecurityEnabled: true, VNICType: "normal", DNSAssignment: []any{},
	}
}

// in reports whether the port has an address in the subnet.
func (p *port) in(subnetID string) bool {
	return slices.ContainsFunc(p.FixedIPs, func(ip fixedIP) bool { return ip.SubnetID == subnetID })
}

// newMAC returns a MAC address with Neutron's three-byte prefix.
func newMAC() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it never fails
	return fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", b[0], b[1], b[2])
}

// https://docs.openstack.org/api-ref/network/v2/#list-ports
func (c *Cloud) listPorts(q call) (int, any, error) {
	all, err := ports.where(q.tx, func(p port) bool { return p.ProjectID == projectID })
	if err != nil {
		return 0, nil, err
	}
	found, err := fitting(all, q.URL.Query())
	return http.StatusOK, map[string]any{"ports": found}, err
}

// askedOf are the fields of a port's body whose absence has a meaning.
type askedOf struct {
	FixedIPs       json.RawMessage `json:"fixed_ips"`
	SecurityGroups *[]string       `json:"security_groups"`
}

// addresses returns the body's fixed_ips: nil if the field is missing, empty if the port should
// have no addresses. For that, clients also write [{}].
func (a askedOf) addresses() ([]fixedIP, error) {
	if a.FixedIPs == nil || string(a.FixedIPs) == "null" {
		return nil, nil
	}
	asked := []fixedIP{}
	if err := json.Unmarshal(a.FixedIPs, &asked); err != nil {
		return nil, bad("Invalid input for fixed_ips: %v", err)
	}
	return asked, nil
}

// https://docs.openstack.org/api-ref/network/v2/#create-port
func (c *Cloud) createPort(q call) (int, any, error) {
	p, asked := newPort(q.now), askedOf{}
	fresh := p.resource
	if err := q.read("port", &asked); err != nil {
		return 0, nil, err
	}
	if err := q.read("port", &p); err != nil {
		return 0, nil, err
	}
	p.resource, p.Status = p.over(fresh), "DOWN"
	if err := p.create(q, asked); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{"port": p}, nil
}

// create fills in the defaults of a new port, and stores it.
func (p *port) create(q call, asked askedOf) error {
	if _, err := byID(q, networks, "Network", p.NetworkID); err != nil {
		return err
	}
	if p.MACAddress == "" {
		p.MACAddress = newMAC()
	}
	taken, err := ports.where(q.tx, func(o port) bool { return o.NetworkID == p.NetworkID && strings.EqualFold(o.MACAddress, p.MACAddress) })
	if err != nil {
		return err
	}
	if len(taken) > 0 {
		return conflict("MacAddressInUse", "Unable to complete operation for network %s. The mac address %s is in use.", p.NetworkID, p.MACAddress)
	}
	addresses, err := asked.addresses()
	if err != nil {
		return err
	}
	if err := p.allocate(q.tx, addresses); err != nil {
		return err
	}
	if asked.SecurityGroups == nil {
		p.SecurityGroups = []string{}
		if p.PortSecurityEnabled {
			p.SecurityGroups = []string{defaultGroupID}
		}
	}
	return p.check(q)
}

// check refuses invalid ports, and stores valid ones.
func (p *port) check(q call) error {
	if !p.PortSecurityEnabled && len(p.SecurityGroups) > 0 {
		return conflict("PortSecurityPortHasSecurityGroup", "Port has security group associated. Cannot disable port security or IP address until security group is removed.")
	}
	slices.Sort(p.SecurityGroups)
	for _, id := range p.SecurityGroups {
		if _, err := byID(q, securityGroups, "SecurityGroup", id); err != nil {
			return err
		}
	}
	for i := range p.AllowedAddressPairs {
		if p.AllowedAddressPairs[i].MACAddress == "" {
			p.AllowedAddressPairs[i].MACAddress = p.MACAddress
		}
	}
	return ports.put(q.tx, p.ID, *p)
}

// https://docs.openstack.org/api-ref/network/v2/#show-port-details
func (c *Cloud) showPort(q call) (int, any, error) {
	p, err := one(q, ports, "Port")
	return http.StatusOK, map[string]any{"port": p}, err
}

// https://docs.openstack.org/api-ref/network/v2/#update-port
func (c *Cloud) updatePort(q call) (int, any, error) {
	old, err := one(q, ports, "Port")
	if err != nil {
		return 0, nil, err
	}
	p, asked := old, askedOf{}
	p.FixedIPs, p.AllowedAddressPairs = nil, nil // decoding would overwrite the old lists
	if err := q.read("port", &asked); err != nil {
		return 0, nil, err
	}
	if err := q.read("port", &p); err != nil {
		return 0, nil, err
	}
	p.resource, p.Status, p.NetworkID, p.MACAddress = p.touched(old.resource, q.now), old.Status, old.NetworkID, old.MACAddress
	p.FixedIPs = old.FixedIPs
	if p.AllowedAddressPairs == nil {
		p.AllowedAddressPairs = old.AllowedAddressPairs
	}
	addresses, err := asked.addresses()
	if err != nil {
		return 0, nil, err
	}
	if addresses != nil {
		// If a requested subnet is one that the port is already in, it keeps its address there.
		for i, want := range addresses {
			if kept := slices.IndexFunc(old.FixedIPs, func(ip fixedIP) bool { return ip.SubnetID == want.SubnetID }); want.IPAddress == "" && kept >= 0 {
				addresses[i] = old.FixedIPs[kept]
			}
		}
		if err := p.allocate(q.tx, addresses); err != nil {
			return 0, nil, err
		}
	}
	if err := p.check(q); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"port": p}, nil
}

// https://docs.openstack.org/api-ref/network/v2/#delete-port
func (c *Cloud) deletePort(q call) (int, any, error) {
	p, err := one(q, ports, "Port")
	if err != nil {
		return 0, nil, err
	}
	if strings.HasPrefix(p.DeviceOwner, "network:") {
		return 0, nil, conflict("ServicePortInUse", "Port %s cannot be deleted directly via the port API: has device owner %s.", p.ID, p.DeviceOwner)
	}
	if err := releaseFloatingIPs(q.tx, p.ID); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, ports.remove(q.tx, p.ID)
}
