package cluster

import "slipway/dev/engine/build"

const (
	routeSpec   = "internal/app/machined/pkg/controllers/network/route_spec.go"
	bgpLab      = "cmd/talosctl/cmd/mgmt/bgp_launch_linux.go"
	routeStatus = "internal/app/machined/pkg/controllers/network/route_status.go"
)

// sameFamilyRoutes takes routes by a gateway of the other address family out of Talos: they need a newer
// rtnetlink than the module proxy has. Nodes in containers have no such routes.
var sameFamilyRoutes = []build.Patch{
	{Path: routeSpec, Old: `// crossFamilyVia returns an RTA_VIA next-hop when the gateway's address family differs from the
// route's destination family (RFC 8950, e.g. an IPv4 route via an IPv6 link-local next-hop).
// It returns nil for a same-family (or absent) gateway, in which case RTA_GATEWAY is used.
func crossFamilyVia(family nethelpers.Family, gw netip.Addr) *rtnetlink.RouteVia {
	if !gw.IsValid() {
		return nil
	}

	gwIsV6 := gw.Is6() && !gw.Is4In6()

	switch family {
	case nethelpers.FamilyInet4:
		if gwIsV6 {
			return &rtnetlink.RouteVia{Family: unix.AF_INET6, Addr: gw.AsSlice()}
		}
	case nethelpers.FamilyInet6:
		if !gwIsV6 {
			return &rtnetlink.RouteVia{Family: unix.AF_INET, Addr: gw.AsSlice()}
		}
	}

	return nil
}

func viaEqual(a, b *rtnetlink.RouteVia) bool {
	if a == nil || b == nil {
		return a == b
	}

	return a.Family == b.Family && a.Addr.Equal(b.Addr)
}

`, New: ""},
	{Path: routeSpec, Old: ` && existing.Attributes.Via == nil`, New: ""},
	{Path: routeSpec, Old: `	if via := crossFamilyVia(expected.Family, expected.Gateway); via != nil {
		return viaEqual(existing.Attributes.Via, via)
	}

`, New: ""},
	{Path: routeSpec, Old: `		if via := crossFamilyVia(family, nh.Gateway); via != nil {
			hop.Via = via
		} else {
			hop.Gateway = nh.Gateway.AsSlice()
		}
`, New: `		hop.Gateway = nh.Gateway.AsSlice()
`},
	{Path: routeSpec, Old: ` ||
			!viaEqual(existing[i].Via, expected[i].Via) {`, New: ` {`},
	{Path: routeSpec, Old: `			if via := crossFamilyVia(route.TypedSpec().Family, route.TypedSpec().Gateway); via != nil {
				// cross-family next-hop (RFC 8950): IPv4 dst via IPv6 link-local, etc.
				routeAttributes.Via = via
			} else {
				routeAttributes.Gateway = route.TypedSpec().Gateway.AsSlice()
			}
`, New: `			routeAttributes.Gateway = route.TypedSpec().Gateway.AsSlice()
`},
	{Path: routeStatus, Old: `			if route.Attributes.Via != nil {
				// cross-family next-hop (RTA_VIA): surface the via address as the gateway
				gatewayAddr, _ = netip.AddrFromSlice(route.Attributes.Via.Addr)
			}

`, New: ""},
	{Path: routeStatus, Old: `					if nh.Via != nil {
						nhGateway, _ = netip.AddrFromSlice(nh.Via.Addr)
					}

`, New: ""},
}

// noLabOfTheOtherFamily does the same for talosctl, which has such routes in the network of its own test machines.
var noLabOfTheOtherFamily = []build.Patch{
	{Path: bgpLab, Old: "attrs.Via = &rtnetlink.RouteVia{Family: unix.AF_INET6, Addr: hops[0].gw.AsSlice()}", New: `panic("built without routes by a gateway of the other family")`},
	{Path: bgpLab, Old: "hop.Via = &rtnetlink.RouteVia{Family: unix.AF_INET6, Addr: h.gw.AsSlice()}", New: `panic("built without routes by a gateway of the other family")`},
}
