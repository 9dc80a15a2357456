package openstack

import (
	"encoding/json"
	"net/http"
)

// https://docs.openstack.org/api-ref/network/v2/#routers-routers
type router struct {
	resource
	Status       string   `json:"status"`
	AdminStateUp bool     `json:"admin_state_up"`
	Gateway      *gateway `json:"external_gateway_info"`
	Routes       []route  `json:"routes"`
	Distributed  bool     `json:"distributed"`
	Zones        []string `json:"availability_zones"`
	ZoneHints    []string `json:"availability_zone_hints"`
}

type gateway struct {
	NetworkID  string    `json:"network_id"`
	EnableSNAT bool      `json:"enable_snat"`
	FixedIPs   []fixedIP `json:"external_fixed_ips"`
}

// https://docs.openstack.org/api-ref/network/v2/#list-routers
func (c *Cloud) listRouters(q call) (int, any, error) { return listed(q, "routers", routers) }

// https://docs.openstack.org/api-ref/network/v2/#create-router
func (c *Cloud) createRouter(q call) (int, any, error) {
	r := router{resource: newResource(q.now), Status: "ACTIVE", AdminStateUp: true, Routes: []route{}, Zones: []string{"nova"}, ZoneHints: []string{}}
	fresh := r.resource
	if err := q.read("router", &r); err != nil {
		return 0, nil, err
	}
	r.resource, r.Status = r.over(fresh), "ACTIVE"
	if err := r.connect(q); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{"router": r}, routers.put(q.tx, r.ID, r)
}

// connect gives the router an address in its gateway's network, if it has one.
func (r *router) connect(q call) error {
	if r.Gateway == nil || r.Gateway.NetworkID == "" {
		r.Gateway = nil
		return r.disconnect(q)
	}
	if n, err := byID(q, networks, "Network", r.Gateway.NetworkID); err != nil {
		return err
	} else if !n.External {
		return bad("Network %s is not an external network", n.ID)
	}
	if err := r.disconnect(q); err != nil {
		return err
	}
	p := newPort(q.now)
	p.ProjectID, p.TenantID = "", "" // without an owner, so that nobody sees it
	p.NetworkID, p.DeviceID, p.DeviceOwner, p.MACAddress = r.Gateway.NetworkID, r.ID, "network:router_gateway", newMAC()
	if err := p.allocate(q.tx, nil); err != nil {
		return err
	}
	r.Gateway.FixedIPs, r.Gateway.EnableSNAT = p.FixedIPs, true
	return ports.put(q.tx, p.ID, p)
}

func (r *router) disconnect(q call) error {
	old, err := ports.where(q.tx, func(p port) bool { return p.DeviceID == r.ID && p.DeviceOwner == "network:router_gateway" })
	for _, p := range old {
		if err == nil {
			err = ports.remove(q.tx, p.ID)
		}
	}
	return err
}

// https://docs.openstack.org/api-ref/network/v2/#show-router-details
func (c *Cloud) showRouter(q call) (int, any, error) {
	r, err := one(q, routers, "Router")
	return http.StatusOK, map[string]any{"router": r}, err
}

// https://docs.openstack.org/api-ref/network/v2/#update-router
func (c *Cloud) updateRouter(q call) (int, any, error) {
	old, err := one(q, routers, "Router")
	if err != nil {
		return 0, nil, err
	}
	r := old
	var asked struct {
		Gateway json.RawMessage `json:"external_gateway_info"`
	}
	if err := q.read("router", &asked); err != nil {
		return 0, nil, err
	}
	if asked.Gateway != nil {
		r.Gateway = nil // decoding would overwrite the old one
	}
	if err := q.read("router", &r); err != nil {
		return 0, nil, err
	}
	r.resource, r.Status = r.touched(old.resource, q.now), old.Status
	if asked.Gateway != nil {
		if err := r.connect(q); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusOK, map[string]any{"router": r}, routers.put(q.tx, r.ID, r)
}

// interfaces returns the ports that connect the router to private networks.
func (r *router) interfaces(q call) ([]port, error) {
	return ports.where(q.tx, func(p port) bool { return p.DeviceID == r.ID && p.DeviceOwner == routerOwner })
}

// https://docs.openstack.org/api-ref/network/v2/#delete-router
func (c *Cloud) deleteRouter(q call) (int, any, error) {
	r, err := one(q, routers, "Router")
	if err != nil {
		return 0, nil, err
	}
	inside, err := r.interfaces(q)
	if err != nil {
		return 0, nil, err
	}
	if len(inside) > 0 {
		return 0, nil, conflict("RouterInUse", "Router %s still has ports", r.ID)
	}
	if err := r.disconnect(q); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, routers.remove(q.tx, r.ID)
}

type routerInterface struct {
	ID       string `json:"id"`
	TenantID string `json:"tenant_id"`
	PortID   string `json:"port_id"`
	SubnetID string `json:"subnet_id"`
}

// addRouterInterface uses a given port, or creates one with the subnet's gateway address.
//
// https://docs.openstack.org/api-ref/network/v2/#add-interface-to-router
func (c *Cloud) addRouterInterface(q call) (int, any, error) {
	r, err := one(q, routers, "Router")
	if err != nil {
		return 0, nil, err
	}
	var asked routerInterface
	if json.Unmarshal(q.body, &asked) != nil || (asked.PortID == "") == (asked.SubnetID == "") {
		return 0, nil, bad("Either subnet_id or port_id must be specified")
	}
	var p port
	if asked.PortID != "" {
		if p, err = byID(q, ports, "Port", asked.PortID); err != nil {
			return 0, nil, err
		}
		if p.DeviceID != "" || len(p.FixedIPs) == 0 {
			return 0, nil, conflict("PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.", p.ID, p.NetworkID, p.DeviceID)
		}
		p.DeviceID, p.DeviceOwner, p.Status = r.ID, routerOwner, "ACTIVE"
		if err := ports.put(q.tx, p.ID, p); err != nil {
			return 0, nil, err
		}
	} else {
		s, err := byID(q, subnets, "Subnet", asked.SubnetID)
		if err != nil {
			return 0, nil, err
		}
		if s.GatewayIP == nil {
			return 0, nil, bad("Subnet for router interface must have a gateway IP")
		}
		p = newPort(q.now)
		p.NetworkID, p.DeviceID, p.DeviceOwner, p.Status, p.PortSecurityEnabled = s.NetworkID, r.ID, routerOwner, "ACTIVE", false
		p.MACAddress = newMAC()
		if err := p.allocate(q.tx, []fixedIP{{s.ID, *s.GatewayIP}}); err != nil {
			return 0, nil, err
		}
		if err := ports.put(q.tx, p.ID, p); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusOK, routerInterface{r.ID, projectID, p.ID, p.FixedIPs[0].SubnetID}, nil
}

// https://docs.openstack.org/api-ref/network/v2/#remove-interface-from-router
func (c *Cloud) removeRouterInterface(q call) (int, any, error) {
	r, err := one(q, routers, "Router")
	if err != nil {
		return 0, nil, err
	}
	var asked routerInterface
	if json.Unmarshal(q.body, &asked) != nil {
		return 0, nil, bad("Either subnet_id or port_id must be specified")
	}
	inside, err := r.interfaces(q)
	if err != nil {
		return 0, nil, err
	}
	for _, p := range inside {
		if p.ID == asked.PortID || asked.PortID == "" && p.in(asked.SubnetID) {
			return http.StatusOK, routerInterface{r.ID, projectID, p.ID, p.FixedIPs[0].SubnetID}, ports.remove(q.tx, p.ID)
		}
	}
	return 0, nil, missing("RouterInterfaceNotFound", "Router %s does not have an interface with id %s", r.ID, asked.PortID+asked.SubnetID)
}
