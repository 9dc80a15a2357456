package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"slipway/dev/engine/build"
)

// nodePackages are the programs besides its own that Talos, containerd, the kubelet and kube-proxy start.
var nodePackages = []string{
	"ca-certificates", "catatonit", "conntrack", "containernetworking-plugins", "ethtool", "iproute2", "iptables", "kmod",
	"mount", "nftables", "runc", "util-linux",
}

// debian has the packages of a node, for its root and for the images that need some of them.
func (m Maker) debian() build.Image {
	return build.Image{Pin: "node", Debian: true, Root: "talos", Packages: nodePackages}
}

// root is the root file system of a node, as far as Talos does not make it itself. Its layout follows the stage
// rootfs-base of Talos' Dockerfile.
func (m Maker) root() build.Product {
	debian, machined, containerd, inside := m.debian().DebianRoot(m.Cache), m.machined(), m.containerd(), m.inside()
	return build.Product{
		Name:   "talos-root",
		Inputs: []string{"talos root 2", debian.Key(), machined.Key(), containerd.Key(), inside.Key(), fmt.Sprint(rootFolders, rootFiles, rootLinks, talosFiles)},
		Make: func(ctx context.Context, dir string) error {
			for _, step := range []func(context.Context, string) error{m.unpackDebian, m.placePrograms, m.placeTalosFiles, placeOwnFiles} {
				if err := step(ctx, dir); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (m Maker) unpackDebian(ctx context.Context, dir string) error {
	from, err := m.Cache.Ensure(ctx, m.debian().DebianRoot(m.Cache))
	if err != nil {
		return err
	}
	return build.Unpack(ctx, filepath.Join(from, build.DebianArchive), dir)
}

// placePrograms installs the programs at the paths at which Talos looks for them.
func (m Maker) placePrograms(ctx context.Context, dir string) error {
	for _, p := range []struct {
		from     build.Product
		name, at string
	}{
		{m.machined(), "machined", "usr/sbin/init"},
		{m.containerd(), "containerd", "usr/bin/containerd"},
		{m.containerd(), "containerd-shim-runc-v2", "usr/bin/containerd-shim-runc-v2"},
		{m.inside(), "inside", "usr/bin/runc"},
	} {
		from, err := m.Cache.Ensure(ctx, p.from)
		if err != nil {
			return err
		}
		at := filepath.Join(dir, p.at)
		if err := os.RemoveAll(at); err != nil { // Debian's runc is a link there, to the program that ours runs
			return err
		}
		if err := build.Install(filepath.Join(from, p.name), at, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// talosFiles are those of Talos' module that belong into the root.
var talosFiles = map[string]string{
	"hack/nfsmount.conf":       "etc/nfsmount.conf",
	"hack/containerd.toml":     "etc/containerd/config.toml",
	"hack/cri-containerd.toml": "etc/cri/containerd.toml",
	"hack/cri-plugin.part":     "etc/cri/conf.d/00-base.part",
}

func (m Maker) placeTalosFiles(ctx context.Context, dir string) error {
	for _, folder := range rootFolders {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	source, err := m.Cache.DownloadModule(ctx, talosModule)
	if err != nil {
		return err
	}
	for from, to := range talosFiles {
		if err := build.Install(filepath.Join(source, from), filepath.Join(dir, to), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// cniFolder has the configuration of a node's CNI.
const cniFolder = "opt/cni/net.d"

// rootFolders and rootFiles are there because Talos mounts something at each of them.
var (
	rootFolders = []string{
		".extra", "boot/EFI", "mnt", "opt/cni/bin", "opt/containerd/bin", "opt/containerd/lib", "system/state", "usr/etc",
		"usr/lib/firmware", "usr/lib/modules", "usr/libexec/kubernetes", "usr/local/lib/kubelet/credentialproviders",
		"usr/local/share", "usr/share/spdx", "usr/share/zoneinfo/Etc",
		"etc/cni", "etc/containerd", "etc/cri/conf.d/hosts", "etc/iscsi", "etc/kubernetes/manifests", "etc/lvm", "etc/nvme",
		"etc/selinux/targeted/contexts/files", "etc/ssl/certs",
	}
	rootFiles = map[string]string{
		"etc/os-release": fmt.Sprintf("NAME=\"Talos\"\nID=talos\nVERSION_ID=%[1]s\nPRETTY_NAME=\"Talos (%[1]s)\"\n", TalosVersion),
		// Talos begins with an empty /etc/cni whenever it starts.
		"etc/cri/conf.d/05-cni.part": "[plugins.\"io.containerd.cri.v1.runtime\".cni]\n  conf_dir = \"/" + cniFolder + "\"\n",
		// By this, Talos knows that it runs in a container.
		"usr/etc/in-container": "true\n",

		"etc/extensions.yaml": "", "etc/hostname": "", "etc/hosts": "", "etc/machine-id": "", "etc/resolv.conf": "",
		"etc/cri/conf.d/01-registries.part": "", "etc/cri/conf.d/20-customization.part": "", "etc/cri/conf.d/base-spec.json": "",
		"etc/cri/conf.d/cri.toml": "", "etc/iscsi/initiatorname.iscsi": "", "etc/nvme/hostid": "", "etc/nvme/hostnqn": "",
		"etc/selinux/targeted/contexts/files/file_contexts": "",
	}
	rootLinks = map[string]string{
		"usr/bin/boot":       "runc", // the same program
		"usr/bin/init":       "../sbin/init",
		"usr/sbin/dashboard": "init", "usr/sbin/poweroff": "init", "usr/sbin/reboot": "init", "usr/sbin/sandboxd": "init", "usr/sbin/shutdown": "init",
		// Talos looks for them below /usr/bin.
		"usr/bin/conntrack": "../sbin/conntrack", "usr/bin/ip6tables": "../sbin/ip6tables", "usr/bin/iptables": "../sbin/iptables",
		"usr/bin/iptables-restore": "../sbin/iptables-restore", "usr/bin/iptables-save": "../sbin/iptables-save", "usr/bin/nft": "../sbin/nft",
	}
)

func placeOwnFiles(_ context.Context, dir string) error {
	for path, content := range rootFiles {
		file := filepath.Join(dir, path)
		if err := os.RemoveAll(file); err != nil { // Debian's is a link
			return err
		}
		if err := build.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
	}
	for path, target := range rootLinks {
		link := filepath.Join(dir, path)
		if err := os.RemoveAll(link); err != nil {
			return err
		}
		if err := os.Symlink(target, link); err != nil {
			return err
		}
	}
	plugins, err := filepath.Glob(filepath.Join(dir, "usr/lib/cni/*"))
	if err != nil {
		return err
	}
	for _, p := range plugins {
		name := filepath.Base(p)
		if err := os.Symlink("../../../usr/lib/cni/"+name, filepath.Join(dir, "opt/cni/bin", name)); err != nil {
			return err
		}
	}
	return nil
}
