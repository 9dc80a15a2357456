package openstack

import (
	"encoding/json"
	"slices"
)

// findGroups looks up the groups by name or ID.
func findGroups(q call, asked serverRequest) ([]securityGroup, error) {
	found := []securityGroup{}
	for _, want := range asked.Groups {
		fit, err := securityGroups.where(q.tx, func(g securityGroup) bool { return g.ID == want.Name || g.Name == want.Name })
		switch {
		case err != nil:
			return nil, err
		case len(fit) == 0:
			return nil, bad("Security group %s not found for project %s.", want.Name, projectID)
		case len(fit) > 1:
			return nil, conflict("", "Multiple security_group matches found for name '%s', use an ID to be more specific.", want.Name)
		}
		found = append(found, fit[0])
	}
	if len(found) == 0 {
		g, _, err := securityGroups.get(q.tx, defaultGroupID)
		return []securityGroup{g}, err
	}
	return found, nil
}

// wantedNetworks returns the requested networks. The default is the only existing network.
func wantedNetworks(q call, asked json.RawMessage) ([]networkRequest, error) {
	text := string(asked)
	if word := text == `"none"` || text == `"auto"`; word && q.microversion() < 37 || text == "" && q.microversion() >= 37 {
		return nil, bad("Invalid input for field/attribute networks.")
	}
	switch text {
	case `"none"`:
		return nil, nil
	case "", "null", `"auto"`, "[]":
		all, err := networks.where(q.tx, nil)
		if err == nil && len(all) > 1 {
			err = conflict("", "Multiple possible networks found, use a Network ID to be more specific.")
		}
		if err != nil {
			return nil, err
		}
		return []networkRequest{{UUID: all[0].ID}}, nil
	}
	var list []networkRequest
	if err := json.Unmarshal(asked, &list); err != nil {
		return nil, bad("Invalid input for field/attribute networks.")
	}
	return list, nil
}

// attach gives the server the requested port, or a new one.
func (s *server) attach(q call, want networkRequest, groups []securityGroup) error {
	if want.Port != "" {
		p, ok, err := ports.get(q.tx, want.Port)
		switch {
		case err != nil:
			return err
		case !ok:
			return bad("Port %s could not be found.", want.Port)
		case p.DeviceID != "":
			return conflict("", "Port %s is still in use.", p.ID)
		case len(p.FixedIPs) == 0:
			return bad("Port %s requires a FixedIP in order to be used.", p.ID)
		}
		p.DeviceID, p.DeviceOwner = s.ID, computeOwner
		s.Interfaces = append(s.Interfaces, attachment{PortID: p.ID})
		return ports.put(q.tx, p.ID, p)
	}
	n, ok, err := networks.get(q.tx, want.UUID)
	if err != nil {
		return err
	}
	if !ok {
		return bad("Network %s could not be found.", want.UUID)
	}
	if err := n.view(q.tx); err != nil {
		return err
	}
	if len(n.Subnets) == 0 {
		return bad("Network %s requires a subnet in order to boot instances on.", n.ID)
	}
	p := newPort(q.now)
	p.NetworkID, p.DeviceID, p.DeviceOwner = n.ID, s.ID, computeOwner
	ids := []string{}
	for _, g := range groups {
		ids = append(ids, g.ID)
	}
	slices.Sort(ids)
	p.SecurityGroups = slices.Compact(ids)
	if !n.PortSecurityEnabled {
		p.PortSecurityEnabled, p.SecurityGroups = false, []string{}
	}
	from := askedOf{SecurityGroups: &p.SecurityGroups}
	if want.FixedIP != "" {
		from.FixedIPs, _ = json.Marshal([]map[string]string{{"ip_address": want.FixedIP}})
	}
	s.Interfaces = append(s.Interfaces, attachment{PortID: p.ID, Made: true})
	return p.create(q, from)
}
