package openstack

import "net/netip"

// complete validates the addresses and fills in those that were not given: the first one for the
// gateway, if there is one, and all others for the allocation pool.
func (s *subnet) complete(gateway bool) error {
	prefix, err := netip.ParsePrefix(s.CIDR)
	if err != nil {
		return bad("Invalid input for cidr. Reason: '%s' is not a valid IP subnet.", s.CIDR)
	}
	prefix = prefix.Masked()
	s.CIDR, s.IPVersion = prefix.String(), 4
	if prefix.Addr().Is6() {
		s.IPVersion = 6
	}
	first := prefix.Addr().Next()
	if s.GatewayIP == nil && gateway {
		ip := first.String()
		s.GatewayIP = &ip
	}
	var own netip.Addr
	if s.GatewayIP != nil {
		if own, err = netip.ParseAddr(*s.GatewayIP); err != nil || !prefix.Contains(own) {
			return bad("Gateway is not valid on subnet")
		}
	}
	for _, p := range s.AllocationPools {
		if !prefix.Contains(p.Start) || !prefix.Contains(p.End) {
			return bad("The allocation pool %s-%s spans beyond the subnet cidr %s.", p.Start, p.End, s.CIDR)
		}
		if p.End.Less(p.Start) {
			return bad("Found an invalid allocation pool %s-%s.", p.Start, p.End)
		}
		if own.IsValid() && !own.Less(p.Start) && !p.End.Less(own) {
			return conflict("GatewayConflictWithAllocationPools", "Gateway ip %s conflicts with allocation pool %s-%s.", own, p.Start, p.End)
		}
	}
	if len(s.AllocationPools) > 0 {
		return nil
	}
	end := last(prefix)
	if s.IPVersion == 4 {
		end = end.Prev() // the last is the broadcast address
	}
	for _, p := range []pool{{first, own.Prev()}, {own.Next(), end}} {
		if !own.IsValid() {
			p = pool{first, end}
		}
		if !p.End.Less(p.Start) {
			s.AllocationPools = append(s.AllocationPools, p)
		}
		if !own.IsValid() {
			break
		}
	}
	return nil
}

func last(prefix netip.Prefix) netip.Addr {
	b := prefix.Addr().AsSlice()
	for i := range b {
		for bit := range 8 {
			if i*8+bit >= prefix.Bits() {
				b[i] |= 0x80 >> bit
			}
		}
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}
