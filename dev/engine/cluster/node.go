package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"slipway/dev/engine/build"
	"slipway/dev/engine/console"
	"slipway/dev/engine/container"
)

// A Rack has the nodes of this machine.
type Rack struct {
	Maker
	Run    string                   // folder of those that run
	Engine string                   // file of the engine's network namespace
	Group  func(name string) string // name of the control group of a container
}

// namePattern has the kind of a node, and its number.
var namePattern = regexp.MustCompile(`^(cp|worker)-([1-9])$`)

// Address returns the address that a node has by its name: cp-1 to cp-9, worker-1 to worker-9.
func Address(name string) (netip.Addr, error) {
	parts := namePattern.FindStringSubmatch(name)
	if parts == nil {
		return netip.Addr{}, console.Refuse(".slipway/engine node on cp-1", "there is no node %q: their names are cp-1 to cp-9 and worker-1 to worker-9", name)
	}
	number, _ := strconv.Atoi(parts[2]) // a digit
	last := network.Addr().As4()
	last[3] = byte(number) + controlBase
	if parts[1] == "worker" {
		last[3] = byte(number) + workerBase
	}
	return netip.AddrFrom4(last), nil
}

func (r Rack) folder(name string) string { return filepath.Join(r.Run, name) }
func (r Rack) netns(name string) string  { return filepath.Join(r.folder(name), "netns") }

// disk is the folder with all that a node keeps when it is off.
func (r Rack) disk(name string) string { return r.Cache.Path("nodes", name) }

func (r Rack) container(name string) container.Container {
	return container.Container{ID: name, Dir: r.folder(name), State: filepath.Join(r.Run, "runc"), Group: r.Group("node " + name)}
}

// volumes are the folders that a node keeps. The others are empty, or as in its root, whenever it starts.
var volumes = []string{"etc/cni", "etc/kubernetes", "opt", "system/state", "usr/libexec/kubernetes", "var"}

// On switches a node on: with an empty disk, it waits for its configuration.
func (r Rack) On(ctx context.Context, name string) error {
	address, err := Address(name)
	if err != nil {
		return err
	}
	if r.container(name).Running(ctx) {
		return nil
	}
	root, err := r.Cache.Ensure(ctx, r.root())
	if err != nil {
		return err
	}
	if err := r.Off(ctx, name); err != nil { // remains of one that died
		return err
	}
	if err := r.makeDisk(name, root, address); err != nil {
		return err
	}
	if err := r.start(ctx, name, root, address); err != nil {
		return errors.Join(err, r.Off(ctx, name))
	}
	return nil
}

func (r Rack) start(ctx context.Context, name, root string, address netip.Addr) error {
	c := r.container(name)
	if err := c.Mount(root, r.folder(name)); err != nil {
		return err
	}
	for path, text := range map[string]string{
		"etc/hostname":    name + "\n",
		"etc/hosts":       fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", address, name),
		"etc/resolv.conf": "nameserver " + gateway.String() + "\n",
	} {
		if err := build.WriteFile(filepath.Join(c.Root(), path), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := container.NewNetwork(r.netns(name)); err != nil {
		return err
	}
	if err := connect(r.Engine, r.netns(name), name, address); err != nil {
		return err
	}
	spec, err := r.spec(name)
	if err != nil {
		return err
	}
	return c.Start(ctx, spec)
}

// makeDisk makes the folders that a node keeps, if they are not there.
func (r Rack) makeDisk(name, root string, address netip.Addr) error {
	for _, v := range volumes {
		to := filepath.Join(r.disk(name), v)
		_, err := os.Stat(to)
		if errors.Is(err, fs.ErrNotExist) {
			err = copyFolder(filepath.Join(root, v), to)
		}
		if err != nil {
			return err
		}
	}
	config := fmt.Sprintf(cniConfig, pods(address))
	return build.WriteFile(filepath.Join(r.disk(name), cniFolder, "10-bridge.conflist"), []byte(config), 0o644)
}

// copyFolder copies a folder into a new one, in one step.
func copyFolder(from, to string) error {
	partial := to + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(partial, os.DirFS(from)); err != nil {
		return err
	}
	return os.Rename(partial, to)
}

// cniConfig connects the pods of a node by a bridge. The image of Flannel, which Talos installs, cannot be pulled here.
const cniConfig = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "hairpinMode": true, "ipMasq": true,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
`

// spec describes a node's container to runc.
func (r Rack) spec(name string) (*specs.Spec, error) {
	mounts := []specs.Mount{
		container.Tmpfs("/run", "mode=755"), container.Tmpfs("/system", "mode=755"), container.Tmpfs("/tmp", "mode=1777"),
	}
	for _, v := range volumes {
		mounts = append(mounts, container.Bind(filepath.Join(r.disk(name), v), "/"+v, "rw"))
	}
	devices := []string{"/dev/kmsg", "/dev/fuse", "/dev/net/tun", "/dev/loop-control"}
	for i := range 8 {
		devices = append(devices, fmt.Sprintf("/dev/loop%d", i))
	}
	env := []string{"PATH=/usr/bin:/usr/sbin", "PLATFORM=container", "TALOSSKU=2CPU-4096RAM"} // as talosctl has it in Docker
	spec, err := r.container(name).Spec(r.netns(name), []string{"/usr/bin/boot"}, env, mounts, devices...)
	if err != nil {
		return nil, err
	}
	spec.Hostname = name
	spec.Root.Readonly = true
	spec.Linux.RootfsPropagation = "shared" // for the mounts of the kubelet
	return spec, nil
}

// Off cuts a node's power. Its disk stays as it is.
func (r Rack) Off(ctx context.Context, name string) error {
	if _, err := Address(name); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.container(name).Remove(ctx); err != nil {
		return err
	}
	if err := container.Unmount(r.netns(name)); err != nil {
		return err
	}
	return os.RemoveAll(r.folder(name))
}

// Wipe cuts a node's power and empties its disk.
func (r Rack) Wipe(ctx context.Context, name string) error {
	if err := r.Off(ctx, name); err != nil {
		return err
	}
	return os.RemoveAll(r.disk(name))
}

// AllOff cuts the power of every node.
func (r Rack) AllOff(ctx context.Context) error {
	entries, err := os.ReadDir(r.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if namePattern.MatchString(e.Name()) {
			errs = append(errs, r.Off(ctx, e.Name()))
		}
	}
	return errors.Join(errs...)
}

// Running lists the nodes that are on.
func (r Rack) Running(ctx context.Context) (names []string) {
	for _, kind := range []string{"cp", "worker"} {
		for i := 1; i <= 9; i++ {
			name := kind + "-" + strconv.Itoa(i)
			if r.container(name).Running(ctx) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Describe lists nodes with their addresses.
func Describe(names []string) string {
	var list []string
	for _, name := range names {
		address, err := Address(name)
		if err == nil {
			list = append(list, name+" "+address.String())
		}
	}
	return strings.Join(list, ", ")
}
