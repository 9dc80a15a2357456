package openstack

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// metadata adds what a server finds at http://169.254.169.254/, here below the prefix with
// -metadata appended and the server's ID. It needs no token: the real service identifies a server
// by its address.
//
// https://docs.openstack.org/nova/latest/user/metadata.html
func (c *Cloud) metadata() {
	add := func(path string, f func(m self) (any, bool)) {
		c.mux.HandleFunc("GET "+c.prefix+"-metadata/{id}/"+path, func(w http.ResponseWriter, r *http.Request) {
			_, body, err := c.answer(r, func(q call) (int, any, error) {
				s, err := q.server()
				if err != nil {
					return 0, nil, err
				}
				m, err := q.self(s)
				if err != nil {
					return 0, nil, err
				}
				body, ok := f(m)
				if !ok {
					return 0, nil, missing("", "%s has no such metadata", m.server.Name)
				}
				return 0, body, nil
			})
			text, isText := body.(string)
			switch {
			case err != nil:
				http.Error(w, err.Error(), http.StatusNotFound)
			case isText:
				w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
				fmt.Fprint(w, text)
			default:
				reply(w, http.StatusOK, body)
			}
		})
	}
	add("openstack/latest/meta_data.json", func(m self) (any, bool) { return m.document(), true })
	add("openstack/latest/network_data.json", func(m self) (any, bool) { return m.networks(), true })
	add("openstack/latest/user_data", self.userData)
	add("latest/user-data", self.userData)
	for key, value := range map[string]func(self) (any, bool){
		"instance-id":               func(m self) (any, bool) { return m.server.ID, true },
		"hostname":                  func(m self) (any, bool) { return m.hostname(), true },
		"local-hostname":            func(m self) (any, bool) { return m.hostname(), true },
		"public-keys/":              func(m self) (any, bool) { return "0=" + m.server.KeyName, m.server.PublicKey != "" },
		"public-keys/0/openssh-key": func(m self) (any, bool) { return m.server.PublicKey, m.server.PublicKey != "" },
		"public-ipv4":               func(m self) (any, bool) { return m.address(true) },
		"local-ipv4":                func(m self) (any, bool) { return m.address(false) },
	} {
		if strings.HasSuffix(key, "/") {
			key += "{$}"
		}
		add("latest/meta-data/"+key, value)
	}
	c.mux.HandleFunc("GET "+ServersPath, func(w http.ResponseWriter, _ *http.Request) {
		list, err := c.Machines()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		reply(w, http.StatusOK, list)
	})
}

// self is a server as described by its own metadata.
type self struct {
	server server
	places []place
}

// A place is a server's position in a network.
type place struct {
	port    port
	network network
	subnets []subnet // subnets of the port's addresses, in the same order
}

func (q call) self(s server) (self, error) {
	m := self{server: s}
	own, err := s.ports(q)
	if err != nil {
		return self{}, err
	}
	for _, p := range own {
		n, _, err := networks.get(q.tx, p.NetworkID)
		if err != nil {
			return self{}, err
		}
		at := place{port: p, network: n}
		for _, ip := range p.FixedIPs {
			s, _, err := subnets.get(q.tx, ip.SubnetID)
			if err != nil {
				return self{}, err
			}
			at.subnets = append(at.subnets, s)
		}
		m.places = append(m.places, at)
	}
	return m, nil
}

func (m self) hostname() string { return strings.ToLower(strings.ReplaceAll(m.server.Name, " ", "-")) }

func (m self) userData() (any, bool) {
	data, _ := base64.StdEncoding.DecodeString(m.server.UserData) // validated when it was received
	return string(data), len(data) > 0
}

func (m self) document() map[string]any {
	keys := map[string]string{}
	if m.server.PublicKey != "" {
		keys[m.server.KeyName] = m.server.PublicKey
	}
	return map[string]any{
		"uuid": m.server.ID, "name": m.server.Name, "hostname": m.hostname(), "availability_zone": "nova", "launch_index": 0,
		"project_id": projectID, "public_keys": keys, "meta": m.server.Metadata, "devices": []any{},
	}
}

// networks returns network_data.json as in
// https://docs.openstack.org/nova/latest/user/metadata.html#openstack-format-metadata
func (m self) networks() map[string]any {
	links, parts, services := []any{}, []any{}, []any{}
	for i, at := range m.places {
		link := fmt.Sprintf("tap%d", i)
		links = append(links, map[string]any{
			"id": link, "vif_id": at.port.ID, "type": "ovs", "mtu": at.network.MTU, "ethernet_mac_address": at.port.MACAddress,
		})
		for j, ip := range at.port.FixedIPs {
			s := at.subnets[j]
			part := map[string]any{
				"id": fmt.Sprintf("network%d", len(parts)), "link": link, "network_id": at.network.ID, "type": fmt.Sprintf("ipv%d", s.IPVersion),
				"ip_address": ip.IPAddress, "netmask": s.CIDR[strings.Index(s.CIDR, "/")+1:], "routes": []any{},
			}
			if s.GatewayIP != nil {
				part["gateway"] = *s.GatewayIP
			}
			parts = append(parts, part)
			for _, address := range s.DNSNameservers {
				services = append(services, map[string]string{"type": "dns", "address": address})
			}
		}
	}
	return map[string]any{"links": links, "networks": parts, "services": services}
}

// address returns the first public or private IPv4 address.
func (m self) address(public bool) (any, bool) {
	for _, at := range m.places {
		for _, ip := range at.port.FixedIPs {
			if at.network.External == public && !strings.Contains(ip.IPAddress, ":") {
				return ip.IPAddress, true
			}
		}
	}
	return nil, false
}
