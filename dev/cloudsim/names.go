package main

import (
	"context"
	"fmt"
	"log"
	"net/netip"
	"slices"
	"strings"

	"slipway/dev/cloudsim/acme"
	"slipway/dev/cloudsim/machine"
	"slipway/dev/cloudsim/managed"
	"slipway/dev/cloudsim/nameserver"
	"slipway/dev/cloudsim/ovh"
)

// serveNames starts the name server of the simulated cloud, and returns its address.
func serveNames(ctx context.Context, address string, rack *machine.Rack, desk *managed.Desk, databases *ovh.Cloud) (string, error) {
	resolvers, err := nameserver.Resolvers("/etc/resolv.conf")
	if err != nil {
		return "", err
	}
	names := &nameserver.Server{
		Zones:     func() ([]string, []nameserver.Record, error) { return zones(databases) },
		Hosts:     func() (map[string]string, error) { return hosts(desk) },
		Player:    func(address string) (string, error) { return playerOf(rack, address) },
		Resolvers: resolvers,
	}
	return names.Start(ctx, address, func(err error) { log.Printf("error: name server: %v", err) })
}

func zones(databases *ovh.Cloud) ([]string, []nameserver.Record, error) {
	published, err := databases.Published()
	var records []nameserver.Record
	for _, r := range published {
		name := ovh.Zone
		if r.SubDomain != "" {
			name = r.SubDomain + "." + ovh.Zone
		}
		records = append(records, nameserver.Record{Name: name, Type: r.Type, Target: r.Target})
	}
	return []string{ovh.Zone}, records, err
}

// hosts are the names of what the services' player plays.
func hosts(desk *managed.Desk) (map[string]string, error) {
	domains, err := desk.Domains()
	found := map[string]string{acme.Domain: desk.At()}
	for _, domain := range domains {
		found[domain] = desk.At()
	}
	return found, err
}

// playerOf returns where the machine is that plays the server with an address.
func playerOf(rack *machine.Rack, address string) (string, error) {
	places, err := rack.Places()
	for _, p := range places {
		if slices.Contains(p.Addresses, address) {
			return p.At, err
		}
	}
	return "", err
}

// sources returns, by the addresses of the machines, the IPv4 addresses of their servers in a
// network; empty: the public one.
func sources(rack *machine.Rack) func(network string) (map[string]string, error) {
	return func(network string) (map[string]string, error) {
		places, err := rack.Places()
		found := map[string]string{}
		for _, p := range places {
			own := p.Networks[network]
			if network == "" {
				own = []string{p.Public}
			}
			for _, text := range own {
				if address, err := netip.ParseAddr(text); err == nil && address.Is4() {
					found[p.At] = text
				}
			}
		}
		return found, err
	}
}

// addressOf returns the address that the zones have for a name, for the proxy to the servers.
func addressOf(databases *ovh.Cloud, name string) (string, error) {
	_, records, err := zones(databases)
	if err != nil {
		return "", err
	}
	for _, r := range records {
		if r.Type == "A" && strings.EqualFold(r.Name, strings.TrimSuffix(name, ".")) {
			return r.Target, nil
		}
	}
	return "", fmt.Errorf("no zone has an address for %s", name)
}
