package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Nodes hang on a bridge in the engine's network namespace. Whatever runs in the engine reaches them by their
// addresses, and they reach the registry at the gateway. The addresses are of those that RFC 2544 sets aside for
// tests, so that no network of the host has them.
const (
	bridge      = "nodes0"
	prefixBits  = 24
	podBits     = 24
	controlBase = 10 // the first control plane has the next address
	workerBase  = 20
)

var (
	network = netip.MustParsePrefix("198.18.87.0/24")
	gateway = netip.MustParseAddr("198.18.87.1")
)

// pods are the addresses of the pods on a node. A bridge on each node and routes between them are its CNI.
func pods(node netip.Addr) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, node.As4()[3], 0}), podBits)
}

// connect gives a node's network namespace an interface in the engine's.
func connect(engine, node, name string, address netip.Addr) error {
	outside, err := openNetwork(engine)
	if err != nil {
		return err
	}
	defer outside.close()
	inside, err := openNetwork(node)
	if err != nil {
		return err
	}
	defer inside.close()
	if err := outside.makeBridge(); err != nil {
		return fmt.Errorf("make the bridge of the nodes: %w", err)
	}
	if err := outside.plug(inside, name); err != nil {
		return fmt.Errorf("connect %s to the bridge of the nodes: %w", name, err)
	}
	if err := inside.address("eth0", address); err != nil {
		return fmt.Errorf("give %s the address %s: %w", name, address, err)
	}
	if err := inside.route(netip.PrefixFrom(netip.IPv4Unspecified(), 0), gateway); err != nil {
		return fmt.Errorf("give %s a route: %w", name, err)
	}
	if err := outside.route(pods(address), address); err != nil {
		return fmt.Errorf("route the pods of %s: %w", name, err)
	}
	return nil
}

// A networkNamespace can be changed from outside of it.
type networkNamespace struct {
	path   string
	file   netns.NsHandle
	handle *netlink.Handle
}

func openNetwork(path string) (*networkNamespace, error) {
	file, err := netns.GetFromPath(path)
	if err != nil {
		return nil, fmt.Errorf("open the network %s: %w", path, err)
	}
	handle, err := netlink.NewHandleAt(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the network %s: %w", path, err), file.Close())
	}
	return &networkNamespace{path, file, handle}, nil
}

func (n *networkNamespace) close() {
	n.handle.Close()
	_ = n.file.Close()
}

// makeBridge makes the bridge if it is not there, and has the namespace forward what comes from it.
func (n *networkNamespace) makeBridge() error {
	if err := n.set("net/ipv4/ip_forward", "1"); err != nil {
		return err
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = bridge
	if err := n.handle.LinkAdd(&netlink.Bridge{LinkAttrs: attributes}); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return n.address(bridge, gateway)
}

// plug connects another namespace, where the interface is called eth0.
func (n *networkNamespace) plug(other *networkNamespace, name string) error {
	on, err := n.handle.LinkByName(bridge)
	if err != nil {
		return err
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MasterIndex = "n-"+name, on.Attrs().Index
	if err := n.unplug(attributes.Name); err != nil {
		return err
	}
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsFd(other.file)}
	if err := n.handle.LinkAdd(pair); err != nil {
		return err
	}
	return n.handle.LinkSetUp(pair)
}

// unplug removes an interface, if it is there: the kernel takes its time to remove that of a node without power.
func (n *networkNamespace) unplug(name string) error {
	old, err := n.handle.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := n.handle.LinkDel(old); err != nil && !errors.Is(err, unix.ENODEV) {
		return err
	}
	return nil
}

// address gives an interface the address and switches it on, with the loopback interface.
func (n *networkNamespace) address(name string, address netip.Addr) error {
	link, err := n.handle.LinkByName(name)
	if err != nil {
		return err
	}
	own := &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(address, prefixBits))}
	if err := n.handle.AddrReplace(link, own); err != nil {
		return err
	}
	loopback, err := n.handle.LinkByName("lo")
	if err != nil {
		return err
	}
	return errors.Join(n.handle.LinkSetUp(loopback), n.handle.LinkSetUp(link))
}

func (n *networkNamespace) route(to netip.Prefix, by netip.Addr) error {
	return n.handle.RouteReplace(&netlink.Route{Dst: ipNet(to), Gw: by.AsSlice()})
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// set sets a kernel setting that each network namespace has.
func (n *networkNamespace) set(name, value string) error {
	result := make(chan error)
	go func() {
		// Never unlocked, so that the thread ends with this goroutine.
		runtime.LockOSThread()
		err := netns.Set(n.file)
		if err == nil {
			err = os.WriteFile("/proc/sys/"+name, []byte(value), 0o644)
		}
		result <- err
	}()
	return <-result
}
