package machine

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ours marks the lines of a server's /etc/hosts that are written again at each boot: the addresses
// are others each time.
const ours = " # cloudsim"

// writeNames has the server find everything by its name: the names of the simulated cloud and of the
// world by cloudsim's name server, which also Docker's containers can reach, and those that Dagger
// gave to this container by /etc/hosts.
func (p *Player) writeNames(ctx context.Context, upper, hostname string) error {
	cloud, err := url.Parse(p.Cloud)
	if err != nil {
		return err
	}
	nameservers, err := net.DefaultResolver.LookupHost(ctx, cloud.Hostname())
	if err != nil {
		return err
	}
	resolv, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return err
	}
	container, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return err
	}
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return err
	}
	gateway, err := defaultGateway(string(routes))
	if err != nil {
		return err
	}
	file := filepath.Join(upper, "etc/hosts")
	server, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeFile(filepath.Join(upper, "etc/resolv.conf"), resolvConf(string(resolv), nameservers[0])); err != nil {
		return err
	}
	return writeFile(file, hosts(string(server), string(container), hostname, gateway))
}

// resolvConf is the container's, with another name server.
func resolvConf(container, nameserver string) string {
	text := "nameserver " + nameserver + "\n"
	for line := range strings.Lines(container) {
		if !strings.HasPrefix(line, "nameserver") {
			text += line
		}
	}
	return text
}

// hosts is what the server has, without what an earlier boot wrote, and with the container's names
// and ours.
func hosts(server, container, hostname string, gateway netip.Addr) string {
	if server == "" {
		server = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	}
	text := ""
	for line := range strings.Lines(server) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasSuffix(line, ours) {
			text += line + "\n"
		}
	}
	text += "127.0.1.1 " + hostname + ours + "\n"
	text += gateway.String() + " registry" + ours + "\n"
	for line := range strings.Lines(container) {
		fields := strings.Fields(line)
		if len(fields) > 1 && !slices.Contains(fields, "localhost") && !strings.HasPrefix(line, "#") {
			text += strings.Join(fields, " ") + ours + "\n"
		}
	}
	return text
}

// defaultGateway reads /proc/net/route: the registry of the engine that we run in is there.
func defaultGateway(routes string) (netip.Addr, error) {
	for line := range strings.Lines(routes) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[1] != "00000000" {
			continue
		}
		// Its bytes are in the order of the processor, which is little-endian.
		if bytes, err := hex.DecodeString(fields[2]); err == nil && len(bytes) == 4 {
			slices.Reverse(bytes)
			return netip.AddrFrom4([4]byte(bytes)), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("there is no default route")
}

// writeFile replaces a file in the server's disk. It does not follow a link, which would lead out of
// the disk.
func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
