package openstack

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// allocate gives the port the requested addresses: a specific one, one in a specific subnet, or, if
// nothing was requested, one of each IP version.
func (p *port) allocate(tx *bolt.Tx, asked []fixedIP) error {
	own, err := subnets.where(tx, func(s subnet) bool { return s.NetworkID == p.NetworkID })
	if err != nil {
		return err
	}
	if asked == nil {
		for _, version := range []int{4, 6} {
			if i := slices.IndexFunc(own, func(s subnet) bool { return s.IPVersion == version }); i >= 0 {
				asked = append(asked, fixedIP{SubnetID: own[i].ID})
			}
		}
	}
	p.FixedIPs = []fixedIP{}
	used, err := p.usedByOthers(tx)
	if err != nil {
		return err
	}
	for _, want := range asked {
		i := slices.IndexFunc(own, func(s subnet) bool { return want.in(s) })
		if i < 0 && want.SubnetID != "" {
			return bad("Failed to create port on network %s, because fixed_ips included invalid subnet %s.", p.NetworkID, want.SubnetID)
		}
		if i < 0 {
			return refusal{http.StatusBadRequest, "InvalidIpForNetwork", fmt.Sprintf("IP address %s is not a valid IP for any of the subnets on the specified network.", want.IPAddress)}
		}
		ip := want.IPAddress
		if ip == "" {
			if ip = own[i].free(used); ip == "" {
				return conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", p.NetworkID)
			}
		}
		if used[ip] {
			return conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", ip, own[i].ID)
		}
		used[ip] = true
		p.FixedIPs = append(p.FixedIPs, fixedIP{own[i].ID, ip})
	}
	return nil
}

// in reports whether s can provide the requested address.
func (want fixedIP) in(s subnet) bool {
	if want.SubnetID != "" && want.SubnetID != s.ID {
		return false
	}
	if want.IPAddress == "" {
		return true
	}
	ip, err := netip.ParseAddr(want.IPAddress)
	return err == nil && netip.MustParsePrefix(s.CIDR).Contains(ip)
}

func (p *port) usedByOthers(tx *bolt.Tx) (map[string]bool, error) {
	used := map[string]bool{}
	others, err := ports.where(tx, func(o port) bool { return o.NetworkID == p.NetworkID && o.ID != p.ID })
	for _, o := range others {
		for _, ip := range o.FixedIPs {
			used[ip.IPAddress] = true
		}
	}
	return used, err
}

// free returns the lowest unused address.
func (s *subnet) free(used map[string]bool) string {
	for _, p := range s.AllocationPools {
		for ip := p.Start; !p.End.Less(ip); ip = ip.Next() {
			if !used[ip.String()] {
				return ip.String()
			}
		}
	}
	return ""
}
