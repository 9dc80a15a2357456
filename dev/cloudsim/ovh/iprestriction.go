package ovh

import (
	"net/netip"
	"slices"
)

// A restriction allows access from a network. It is identified by its address: it has no ID.
type restriction struct {
	IP, Description string
	State           state
}

type restrictionRequest struct {
	IP          string `json:"ip"`
	Description string `json:"description"`
}

func (r restriction) view() map[string]any {
	return map[string]any{"ip": r.IP, "description": r.Description, "status": r.State.Status}
}

func (k *cluster) restriction(ip string) (*restriction, error) {
	i := slices.IndexFunc(k.Restrictions, func(r restriction) bool { return r.IP == ip })
	if i < 0 {
		return nil, missing("IP restriction %s not found", ip)
	}
	return &k.Restrictions[i], nil
}

// network returns an address or a prefix as a prefix.
func network(text string) (string, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()).String(), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Masked() != prefix {
		return "", bad("Invalid IP restriction %q: it is not a network such as 203.0.113.0/24", text)
	}
	return prefix.String(), nil
}

// changeRestrictions replaces the restrictions with the requested ones; nil leaves them as they
// are.
func (k *cluster) changeRestrictions(asked *[]restrictionRequest) error {
	if asked == nil {
		return nil
	}
	k.Restrictions = nil
	for _, one := range *asked {
		ip, err := network(one.IP)
		if err != nil {
			return err
		}
		if _, err := k.restriction(ip); err == nil {
			return bad("IP restriction %s is listed twice", ip)
		}
		k.Restrictions = append(k.Restrictions, restriction{ip, one.Description, state{Status: ready}})
	}
	return nil
}

// restricted returns the cluster in the path if its restrictions can be changed: only one of them
// can change at a time. On this error the provider tries again.
func (q call) restricted() (cluster, error) {
	k, err := q.ready()
	if err == nil && slices.ContainsFunc(k.Restrictions, func(r restriction) bool { return r.State.Status != ready }) {
		err = conflict("Another IP restriction of service %s is being changed", k.ID)
	}
	return k, err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/ipRestriction~GET
func (c *Cloud) listRestrictions(q call) (any, error) {
	k, err := q.cluster()
	ips := []string{}
	for _, r := range k.Restrictions {
		ips = append(ips, r.IP)
	}
	return ips, err
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/ipRestriction~POST
func (c *Cloud) createRestriction(q call) (any, error) {
	k, err := q.restricted()
	if err != nil {
		return nil, err
	}
	var asked restrictionRequest
	if err := q.read(&asked); err != nil {
		return nil, err
	}
	ip, err := network(asked.IP)
	if err != nil {
		return nil, err
	}
	if _, err := k.restriction(ip); err == nil {
		return nil, conflict("IP restriction %s already exists", ip)
	}
	r := restriction{IP: ip, Description: asked.Description}
	c.begin(q, &r.State, "PENDING", "CREATING", ready)
	k.Restrictions = append(k.Restrictions, r)
	return r.view(), k.put(q.tx)
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/ipRestriction/{ipBlock}~GET
func (c *Cloud) showRestriction(q call) (any, error) {
	k, err := q.cluster()
	if err != nil {
		return nil, err
	}
	r, err := k.restriction(q.PathValue("ip"))
	if err != nil {
		return nil, err
	}
	return r.view(), nil
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/ipRestriction/{ipBlock}~PUT
func (c *Cloud) updateRestriction(q call) (any, error) {
	k, err := q.restricted()
	if err != nil {
		return nil, err
	}
	r, err := k.restriction(q.PathValue("ip"))
	if err != nil {
		return nil, err
	}
	asked := restrictionRequest{Description: r.Description}
	if err := q.read(&asked); err != nil {
		return nil, err
	}
	r.Description = asked.Description
	c.begin(q, &r.State, "UPDATING", ready)
	return r.view(), k.put(q.tx)
}

// https://api.ovh.com/console/#/cloud/project/{serviceName}/database/postgresql/{clusterId}/ipRestriction/{ipBlock}~DELETE
func (c *Cloud) deleteRestriction(q call) (any, error) {
	k, err := q.restricted()
	if err != nil {
		return nil, err
	}
	r, err := k.restriction(q.PathValue("ip"))
	if err != nil {
		return nil, err
	}
	c.begin(q, &r.State, "DELETING", deleted)
	return nil, k.put(q.tx)
}
