package openstack

import (
	"maps"
	"net/http"
	"slices"
)

// https://docs.openstack.org/api-ref/compute/#list-all-metadata
func (c *Cloud) showMetadata(q call) (int, any, error) {
	s, err := q.server()
	return http.StatusOK, map[string]any{"metadata": s.Metadata}, err
}

// https://docs.openstack.org/api-ref/compute/#create-or-update-metadata-items
func (c *Cloud) updateMetadata(q call) (int, any, error) { return q.writeMetadata(false) }

// https://docs.openstack.org/api-ref/compute/#replace-metadata-items
func (c *Cloud) replaceMetadata(q call) (int, any, error) { return q.writeMetadata(true) }

func (q call) writeMetadata(instead bool) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	asked := map[string]string{}
	if err := q.read("metadata", &asked); err != nil {
		return 0, nil, err
	}
	if instead {
		s.Metadata = map[string]string{}
	}
	maps.Copy(s.Metadata, asked)
	return http.StatusOK, map[string]any{"metadata": s.Metadata}, servers.put(q.tx, s.ID, s)
}

// https://docs.openstack.org/api-ref/compute/#delete-metadata-item
func (c *Cloud) deleteMetadatum(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	if _, ok := s.Metadata[q.PathValue("key")]; !ok {
		return 0, nil, missing("", "Metadata item was not found")
	}
	delete(s.Metadata, q.PathValue("key"))
	return http.StatusNoContent, nil, servers.put(q.tx, s.ID, s)
}

// https://docs.openstack.org/api-ref/compute/#list-tags
func (c *Cloud) listServerTags(q call) (int, any, error) {
	if q.microversion() < 26 {
		return 0, nil, missing("", "The resource could not be found.")
	}
	s, err := q.server()
	return http.StatusOK, map[string]any{"tags": s.Tags}, err
}

// https://docs.openstack.org/api-ref/compute/#replace-tags
func (c *Cloud) replaceServerTags(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	asked := []string{}
	if err := q.read("tags", &asked); err != nil {
		return 0, nil, err
	}
	slices.Sort(asked)
	s.Tags = slices.Compact(asked)
	return http.StatusOK, map[string]any{"tags": s.Tags}, servers.put(q.tx, s.ID, s)
}

// https://docs.openstack.org/api-ref/compute/#list-ips
func (c *Cloud) listAddresses(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	addresses, err := s.addresses(q)
	return http.StatusOK, map[string]any{"addresses": addresses}, err
}

// https://docs.openstack.org/api-ref/compute/#list-security-groups-by-server
func (c *Cloud) listServerGroups(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	groups, err := s.groups(q)
	list := []any{}
	for _, g := range groups {
		list = append(list, map[string]any{"id": g.ID, "name": g.Name, "description": g.Description, "tenant_id": g.TenantID, "rules": []any{}})
	}
	return http.StatusOK, map[string]any{"security_groups": list}, err
}

// listVolumes is always empty: this cloud has no volumes.
//
// https://docs.openstack.org/api-ref/compute/#list-volume-attachments-for-an-instance
func (c *Cloud) listVolumes(q call) (int, any, error) {
	_, err := q.server()
	return http.StatusOK, map[string]any{"volumeAttachments": []any{}}, err
}

func interfaceView(p port) map[string]any {
	return map[string]any{"port_id": p.ID, "net_id": p.NetworkID, "mac_addr": p.MACAddress, "port_state": p.Status, "fixed_ips": p.FixedIPs}
}

// https://docs.openstack.org/api-ref/compute/#list-port-interfaces
func (c *Cloud) listInterfaces(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	own, err := s.ports(q)
	list := []any{}
	for _, p := range own {
		list = append(list, interfaceView(p))
	}
	return http.StatusOK, map[string]any{"interfaceAttachments": list}, err
}

// https://docs.openstack.org/api-ref/compute/#create-interface
func (c *Cloud) createInterface(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	var asked struct {
		PortID   string    `json:"port_id"`
		NetID    string    `json:"net_id"`
		FixedIPs []fixedIP `json:"fixed_ips"`
	}
	if err := q.read("interfaceAttachment", &asked); err != nil {
		return 0, nil, err
	}
	want := networkRequest{UUID: asked.NetID, Port: asked.PortID}
	if len(asked.FixedIPs) > 0 {
		want.FixedIP = asked.FixedIPs[0].IPAddress
	}
	groups, err := findGroups(q, serverRequest{})
	if err != nil {
		return 0, nil, err
	}
	if err := s.attach(q, want, groups); err != nil {
		return 0, nil, err
	}
	p, _, err := ports.get(q.tx, s.Interfaces[len(s.Interfaces)-1].PortID)
	if err != nil {
		return 0, nil, err
	}
	if s.Status == "ACTIVE" {
		p.Status = "ACTIVE"
	}
	if err := ports.put(q.tx, p.ID, p); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"interfaceAttachment": interfaceView(p)}, servers.put(q.tx, s.ID, s)
}

// https://docs.openstack.org/api-ref/compute/#show-port-interface-details
func (c *Cloud) showInterface(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	own, err := s.ports(q)
	for _, p := range own {
		if p.ID == q.PathValue("port") {
			return http.StatusOK, map[string]any{"interfaceAttachment": interfaceView(p)}, nil
		}
	}
	if err == nil {
		err = missing("", "Instance %s does not have a port with id %s", s.ID, q.PathValue("port"))
	}
	return 0, nil, err
}

// https://docs.openstack.org/api-ref/compute/#detach-interface
func (c *Cloud) deleteInterface(q call) (int, any, error) {
	s, err := q.server()
	if err != nil {
		return 0, nil, err
	}
	i := slices.IndexFunc(s.Interfaces, func(a attachment) bool { return a.PortID == q.PathValue("port") })
	if i < 0 {
		return 0, nil, missing("", "Instance %s does not have a port with id %s", s.ID, q.PathValue("port"))
	}
	if err := s.Interfaces[i].release(q.tx); err != nil {
		return 0, nil, err
	}
	s.Interfaces = slices.Delete(s.Interfaces, i, i+1)
	return http.StatusAccepted, nil, servers.put(q.tx, s.ID, s)
}
