package cluster

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"slipway/internal/printable"
	"slipway/internal/settings"
)

// A source is the cluster.yaml that is being read.
type source struct{ settings.Source }

var (
	labelPattern       = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	fingerprintPattern = regexp.MustCompile(`^[A-Za-z0-9+/]{43}=$`)
	versionPattern     = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)
)

func (s *source) check(repository fs.FS, c *Cluster) error {
	for _, rule := range []func(fs.FS, *Cluster) error{s.checkNames, s.checkVersions, s.checkNetworks, s.checkEndpoint, s.checkRegistries, s.checkNodes, s.checkControls, s.checkPatches} {
		if err := rule(repository, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) checkNames(_ fs.FS, c *Cluster) error {
	if !labelPattern.MatchString(c.Name) {
		return s.Refuse("name", s.Edit("write name: and 1 to 63 lower-case letters, digits and dashes"), "%q cannot be the name of a cluster", c.Name)
	}
	for _, v := range []struct{ at, version, example string }{{"talos", c.Talos, "v1.14.1"}, {"kubernetes", c.Kubernetes, "v1.35.0"}} {
		if !versionPattern.MatchString(v.version) {
			return s.Refuse(v.at, s.Edit("write %s: and a version, such as %s", v.at, v.example), "%s is %q, which is not a version", v.at, v.version)
		}
	}
	return nil
}

// checkVersions refuses a pair of versions that Talos does not support, and a Talos that this version of
// Slipway cannot configure.
func (s *source) checkVersions(_ fs.FS, c *Cluster) error {
	if !slices.Contains(contracts, minor(c.Talos)) {
		return s.Refuse("talos", s.Edit("write a version of %s", settings.Enumerate(contracts)), "Slipway does not know Talos %s", c.Talos)
	}
	if err := supported(c.Talos, c.Kubernetes); err != nil {
		return s.Refuse("kubernetes", s.Edit("choose a pair of the support matrix in Talos' documentation"), "%v", err)
	}
	return nil
}

// prefix reads a network, which must not have bits of a host.
func (s *source) prefix(at, text, example string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, s.Refuse(at, s.Edit("write a network, such as %s", example), "%s is %q, which is not a network", at, text)
	}
	if p != p.Masked() {
		return p, s.Refuse(at, s.Edit("write %s", p.Masked()), "%s is %s, which is an address in the network %s", at, text, p.Masked())
	}
	return p, nil
}

func (s *source) checkNetworks(_ fs.FS, c *Cluster) error {
	type network struct {
		at     string
		prefix netip.Prefix
	}
	var all []network
	add := func(at, text, example string) error {
		p, err := s.prefix(at, text, example)
		if err != nil {
			return err
		}
		for _, other := range all {
			if other.prefix.Overlaps(p) {
				return s.Refuse(at, s.Edit("choose networks that share no address"), "%s overlaps with %s, %s", text, other.at, other.prefix)
			}
		}
		all = append(all, network{at, p})
		return nil
	}
	if c.Network != "" {
		if err := add("network", c.Network, "10.0.0.0/24"); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		at    *[]string
		name  string
		other string
	}{{&c.Pods, "pods", "10.244.0.0/16"}, {&c.Services, "services", "10.96.0.0/12"}} {
		if len(*list.at) == 0 {
			*list.at = []string{list.other}
		}
		for i, text := range *list.at {
			at := list.name
			if s.Has(list.name) {
				at = fmt.Sprintf("%s[%d]", list.name, i)
			}
			if err := add(at, text, list.other); err != nil {
				return err
			}
		}
	}
	return nil
}

// inNetwork refuses an address that is outside the nodes' network.
func (s *source) inNetwork(c *Cluster, at string, address netip.Addr) error {
	if c.Network == "" {
		return nil
	}
	if p := netip.MustParsePrefix(c.Network); !p.Contains(address) {
		return s.Refuse(at, s.Edit("write an address in %s, or correct network:", p), "%s is outside of network %s", address, p)
	}
	return nil
}

func (s *source) checkEndpoint(_ fs.FS, c *Cluster) error {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return s.Refuse("endpoint", s.Edit("write endpoint: https://host:6443"), "endpoint is not an https URL of a host and a port")
	}
	if u.User != nil {
		return s.Refuse("endpoint", s.KeepSecret(), "endpoint contains a user or a password")
	}
	if c.VIP == nil {
		return nil
	}
	vip, err := netip.ParseAddr(c.VIP.Address)
	if err != nil {
		return s.Refuse("vip.address", s.Edit("write an IP address that no machine has"), "vip.address is %q, which is not an IP address", c.VIP.Address)
	}
	if c.VIP.Link == "" {
		return s.Refuse("vip", s.Edit("write link: and a network interface of the control planes, such as eth0"), "vip has no link")
	}
	return s.inNetwork(c, "vip.address", vip)
}

func (s *source) checkNodes(_ fs.FS, c *Cluster) error {
	names, addresses := map[string]int{}, map[netip.Addr]string{}
	if c.VIP != nil {
		addresses[netip.MustParseAddr(c.VIP.Address)] = "the VIP"
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		at := fmt.Sprintf("nodes[%d]", i)
		if !labelPattern.MatchString(n.Name) {
			return s.Refuse(at+".name", s.Edit("write name: and 1 to 63 lower-case letters, digits and dashes"), "%q cannot be the name of a node", n.Name)
		}
		if _, twice := names[n.Name]; twice {
			return s.Refuse(at+".name", s.Edit("rename one of them"), "two nodes are called %s", n.Name)
		}
		names[n.Name] = i
		if n.Role != ControlPlane && n.Role != Worker {
			roles := []string{string(ControlPlane), string(Worker)}
			return s.Refuse(at+".role", s.Edit("%sthe roles are %s", settings.DidYouMean(string(n.Role), roles), settings.Enumerate(roles)), "%s has the role %q", n.Name, n.Role)
		}
		address, err := netip.ParseAddr(n.Address)
		if err != nil {
			return s.Refuse(at+".address", s.Edit("write the node's IP address"), "the address of %s is %q, which is not an IP address", n.Name, n.Address)
		}
		if other, twice := addresses[address]; twice {
			return s.Refuse(at+".address", s.Edit("give each node an address of its own"), "%s has the address of %s: %s", n.Name, other, address)
		}
		addresses[address] = n.Name
		if err := s.inNetwork(c, at+".address", address); err != nil {
			return err
		}
		if n.Fingerprint != "" && !fingerprintPattern.MatchString(n.Fingerprint) {
			return s.Refuse(at+".fingerprint", s.Edit("write it as the node's console prints it, 44 characters in quotes"), "the fingerprint of %s is %q, which is not a SHA-256 in base64", n.Name, n.Fingerprint)
		}
		group := c.Workers
		if n.Role == ControlPlane {
			group = c.Controls
		}
		if n.Disk == "" && group != nil {
			n.Disk = group.Disk
		}
		if n.Disk == "" {
			return s.Refuse(at, s.Edit("write disk: /dev/…, here or for its role"), "%s has no disk to install to", n.Name)
		}
		if !strings.HasPrefix(n.Disk, "/dev/") || path.Clean(n.Disk) != n.Disk {
			return s.Refuse(at+".disk", s.Edit("write a path such as /dev/sda or /dev/disk/by-id/…"), "the disk of %s is %q, which is not a path below /dev", n.Name, n.Disk)
		}
	}
	return nil
}

func (s *source) checkControls(_ fs.FS, c *Cluster) error {
	if len(c.Nodes) == 0 {
		return nil // they come from the layers
	}
	controls := c.Of(ControlPlane)
	n := len(controls)
	if n == 0 {
		return s.Refuse("nodes", s.Edit("give one node, or three, the role controlplane"), "the cluster has no control plane")
	}
	if n%2 == 0 && !c.Even {
		return s.Refuse("nodes", s.Edit("add or remove one, or write evenControlPlanes: true"), "the cluster has %d control planes: that survives no more failures than %d", n, n-1)
	}
	zones := c.zones()
	if n > 2 && len(zones) == 1 && zones[controls[0].Zone] == n && controls[0].Zone != "" {
		return s.Refuse("nodes", s.Edit("spread them over zones, or leave the zones out if there are none"), "all %d control planes are in zone %s: if it fails, the cluster does", n, controls[0].Zone)
	}
	return nil
}

// zones counts the control planes by zone.
func (c *Cluster) zones() map[string]int {
	zones := map[string]int{}
	for _, n := range c.Of(ControlPlane) {
		zones[n.Zone]++
	}
	return zones
}

// warnings returns what may be meant.
func (c *Cluster) warnings() (list []string) {
	controls := c.Of(ControlPlane)
	for zone, n := range c.zones() {
		if zone != "" && n > len(controls)/2 && n < len(controls) {
			list = append(list, fmt.Sprintf("%d of %d control planes are in zone %s: if it fails, the cluster does", n, len(controls), zone))
		}
	}
	u, err := url.Parse(c.Endpoint)
	for _, n := range controls {
		if err == nil && len(controls) > 1 && u.Hostname() == n.Address {
			list = append(list, fmt.Sprintf("endpoint is the address of %s: if it fails, Kubernetes cannot be reached, although other control planes run", n.Name))
		}
	}
	return list
}

func (s *source) checkRegistries(_ fs.FS, c *Cluster) error {
	seen := map[string]bool{}
	for i, r := range c.Registries {
		at := fmt.Sprintf("registries[%d]", i)
		if r.Host == "" || strings.ContainsAny(r.Host, "/ ") {
			return s.Refuse(at+".host", s.Edit("write host: and the registry in the names of images, such as docker.io"), "%q is not a registry", r.Host)
		}
		if seen[r.Host] {
			return s.Refuse(at+".host", s.Edit("keep one of them"), "the registry %s is listed twice", r.Host)
		}
		seen[r.Host] = true
		if len(r.Mirrors) == 0 {
			return s.Refuse(at, s.Edit("write mirrors: [https://…]"), "the registry %s has no mirrors", r.Host)
		}
		for j, text := range r.Mirrors {
			u, err := url.Parse(text)
			if err == nil && u.User != nil {
				return s.Refuse(fmt.Sprintf("%s.mirrors[%d]", at, j), s.KeepSecret(), "a mirror of %s contains a user or a password", r.Host)
			}
			if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
				return s.Refuse(fmt.Sprintf("%s.mirrors[%d]", at, j), s.Edit("write it as https://host"), "a mirror of %s is not an http or https URL", r.Host)
			}
		}
	}
	return nil
}

// checkPatches checks that the files are there and are strategic merges.
func (s *source) checkPatches(repository fs.FS, c *Cluster) error {
	type list struct {
		at    string
		files []string
	}
	lists := []list{{"patches", c.Patches}}
	if c.Controls != nil {
		lists = append(lists, list{"controlPlanes.patches", c.Controls.Patches})
	}
	if c.Workers != nil {
		lists = append(lists, list{"workers.patches", c.Workers.Patches})
	}
	for i, n := range c.Nodes {
		lists = append(lists, list{fmt.Sprintf("nodes[%d].patches", i), n.Patches})
	}
	for _, l := range lists {
		for i, name := range l.files {
			at := fmt.Sprintf("%s[%d]", l.at, i)
			if !fs.ValidPath(name) || name == "." {
				return s.Refuse(at, s.Edit("name a file below environments/%s", c.Environment), "%q is not a path below the environment", name)
			}
			if slices.Contains(l.files[:i], name) {
				return s.Refuse(at, s.Edit("keep one of them"), "the patch %q is listed twice", name)
			}
			file := path.Join("environments", c.Environment, name)
			mode, there, err := s.Find(repository, at, file)
			if err != nil {
				return err
			}
			if !there || !mode.IsRegular() {
				return s.Refuse(at, "$EDITOR "+printable.Word(file), "the patch %q has no file %s", name, file)
			}
			data, err := fs.ReadFile(repository, file)
			if err != nil {
				return err
			}
			if jsonPatch(data) {
				return s.Refuse(at, "$EDITOR "+printable.Word(file), "%s is a JSON patch, which Talos does not apply to several documents: write the keys that it changes, as a strategic merge", file)
			}
		}
	}
	return nil
}

var operation = regexp.MustCompile(`(?m)^\s*(- )?["']?op["']?\s*:`)

// jsonPatch reports whether a patch is a list of operations (RFC 6902), in YAML or JSON.
func jsonPatch(data []byte) bool {
	text := bytes.TrimSpace(data)
	return (bytes.HasPrefix(text, []byte("[")) || bytes.HasPrefix(text, []byte("- "))) && (operation.Match(text) || bytes.Contains(text, []byte(`"op"`)))
}
