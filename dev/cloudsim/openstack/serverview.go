package openstack

import (
	"slices"
	"strings"
	"time"
)

// addresses returns the server's addresses by network name.
func (s *server) addresses(q call) (map[string][]any, error) {
	shown := map[string][]any{}
	if s.Status == "BUILD" || s.Status == "ERROR" && s.Launched.IsZero() {
		return shown, nil
	}
	own, err := s.ports(q)
	if err != nil {
		return nil, err
	}
	for _, p := range own {
		n, _, err := networks.get(q.tx, p.NetworkID)
		if err != nil {
			return nil, err
		}
		entry := func(ip, kind string) {
			version := 4
			if strings.Contains(ip, ":") {
				version = 6
			}
			shown[n.Name] = append(shown[n.Name], map[string]any{
				"addr": ip, "version": version, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": p.MACAddress,
			})
		}
		for _, ip := range p.FixedIPs {
			entry(ip.IPAddress, "fixed")
		}
		floating, err := floatingIPs.where(q.tx, func(f floatingIP) bool { return f.PortID != nil && *f.PortID == p.ID })
		if err != nil {
			return nil, err
		}
		for _, f := range floating {
			entry(f.FloatingIP, "floating")
		}
	}
	return shown, nil
}

// groups returns the security groups of the server's ports.
func (s *server) groups(q call) ([]securityGroup, error) {
	own, err := s.ports(q)
	if err != nil {
		return nil, err
	}
	found := []securityGroup{}
	for _, p := range own {
		for _, id := range p.SecurityGroups {
			g, ok, err := securityGroups.get(q.tx, id)
			if err != nil {
				return nil, err
			}
			if ok && !slices.ContainsFunc(found, func(o securityGroup) bool { return o.ID == g.ID }) {
				found = append(found, g)
			}
		}
	}
	return found, nil
}

// view returns the server in the format of
// https://docs.openstack.org/api-ref/compute/#show-server-details
func (c *Cloud) view(q call, s server) (map[string]any, error) {
	addresses, err := s.addresses(q)
	if err != nil {
		return nil, err
	}
	groups, err := s.groups(q)
	if err != nil {
		return nil, err
	}
	v := map[string]any{
		"id": s.ID, "name": s.Name, "status": s.Status, "tenant_id": projectID, "user_id": userID, "created": s.Created.Truncate(time.Second), "updated": s.Updated,
		"hostId": strings.ReplaceAll(s.ID, "-", "")[:16], "progress": 0, "accessIPv4": "", "accessIPv6": "", "config_drive": "",
		"metadata": s.Metadata, "addresses": addresses, "key_name": nil, "links": c.link(q, "servers/"+s.ID),
		"image":             map[string]any{"id": s.ImageID, "links": c.link(q, "images/"+s.ImageID)},
		"flavor":            map[string]any{"id": s.FlavorID, "links": c.link(q, "flavors/"+s.FlavorID)},
		"OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": "nova", "OS-EXT-STS:task_state": nil,
		"OS-EXT-STS:vm_state": vmStates[s.Status], "OS-EXT-STS:power_state": powerStates[s.Status],
		"OS-SRV-USG:launched_at": nil, "OS-SRV-USG:terminated_at": nil, "os-extended-volumes:volumes_attached": []any{},
	}
	if s.Task != "" {
		v["OS-EXT-STS:task_state"] = s.Task
	}
	if s.Status == "ACTIVE" {
		v["progress"] = 100
	}
	if s.KeyName != "" {
		v["key_name"] = s.KeyName
	}
	if s.ConfigDrive {
		v["config_drive"] = "True"
	}
	if !s.Launched.IsZero() {
		v["OS-SRV-USG:launched_at"] = s.Launched.Format("2006-01-02T15:04:05.000000")
	}
	if s.Fault != nil {
		v["fault"] = s.Fault
	}
	if len(groups) > 0 {
		names := []any{}
		for _, g := range groups {
			names = append(names, map[string]string{"name": g.Name})
		}
		v["security_groups"] = names
	}
	if q.microversion() >= 26 {
		v["tags"] = s.Tags
	}
	if f, ok := flavorByID(s.FlavorID); ok && q.microversion() >= 47 {
		v["flavor"] = map[string]any{
			"original_name": f.Name, "vcpus": f.VCPUs, "ram": f.RAM, "disk": f.Disk, "ephemeral": 0, "swap": 0, "extra_specs": map[string]string{},
		}
	}
	return v, nil
}
