package container

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// Spec describes the container to runc: privileged, but with its own root, processes and host name, and in the
// network namespace that the file netns keeps alive. It runs args with these further mounts and devices of
// the host; devices that the host lacks are left out.
func (c Container) Spec(netns string, args, env []string, mounts []specs.Mount, devices ...string) (*specs.Spec, error) {
	caps, err := capabilities()
	if err != nil {
		return nil, err
	}
	umask := uint32(0o022)
	return &specs.Spec{
		Version: "1.0.2",
		Process: &specs.Process{
			User: specs.User{Umask: &umask},
			Args: args,
			Env:  env,
			Cwd:  "/",
			Capabilities: &specs.LinuxCapabilities{
				Bounding: caps, Effective: caps, Permitted: caps,
			},
		},
		Root: &specs.Root{Path: c.Root()},
		Mounts: append([]specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755", "size=65536k"}},
			{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
			{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777"}},
			{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
			{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev"}},
			{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev"}},
		}, mounts...),
		Linux: &specs.Linux{
			CgroupsPath: c.Group,
			Resources:   &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: true, Access: "rwm"}}},
			Devices:     hostDevices(devices),
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.MountNamespace}, {Type: specs.CgroupNamespace},
				{Type: specs.NetworkNamespace, Path: netns},
			},
		},
	}, nil
}

// Bind is the mount of a file or folder of the host.
func Bind(from, to string, options ...string) specs.Mount {
	return specs.Mount{Destination: to, Type: "bind", Source: from, Options: append([]string{"rbind"}, options...)}
}

// Tmpfs is a mount in memory.
func Tmpfs(to string, options ...string) specs.Mount {
	return specs.Mount{Destination: to, Type: "tmpfs", Source: "tmpfs", Options: options}
}

// hostDevices describes those of the paths that exist on the host.
func hostDevices(paths []string) []specs.LinuxDevice {
	var devices []specs.LinuxDevice
	for _, path := range paths {
		var stat unix.Stat_t
		if unix.Stat(path, &stat) != nil {
			continue
		}
		kind, mode := "c", fs.FileMode(0o666)
		if stat.Mode&unix.S_IFMT == unix.S_IFBLK {
			kind = "b"
		}
		devices = append(devices, specs.LinuxDevice{
			Path: path, Type: kind, FileMode: &mode,
			Major: int64(unix.Major(stat.Rdev)), Minor: int64(unix.Minor(stat.Rdev)),
		})
	}
	return devices
}

// capabilities lists the capabilities that this process can pass on; a virtual machine or an outer
// container may lack some.
func capabilities() ([]string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(status), "\nCapBnd:\t")
	hexMask, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(hexMask, 16, 64)
	if err != nil {
		return nil, fmt.Errorf("read our capabilities: %w", err)
	}
	var names []string
	for bit, name := range capabilityNames {
		if mask&(1<<bit) != 0 {
			names = append(names, "CAP_"+name)
		}
	}
	return names, nil
}

// capabilityNames in the order of their numbers in linux/capability.h.
var capabilityNames = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
	LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
	SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE
	AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)
