package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"slipway/dev/engine/build"
)

// The engine runs as one privileged runc container. Its root is an overlay on a product, so that it
// leaves no trace there. Its network is a namespace that pasta connects to the host's in user
// space, so that its bridge and iptables rules disappear with it. The host sees nothing of it
// outside the run folder.

// containerID is the container's name within the run folder.
const containerID = "engine"

// cgroup is the container's control group, relative to our own group; one for each run folder.
func (s settings) cgroup() string {
	sum := sha256.Sum256([]byte(s.run))
	return "slipway-" + hex.EncodeToString(sum[:])[:8]
}

// A container is what start needs to know besides the settings.
type container struct {
	root    string            // a product: the root's files
	content string            // a product: the Go SDK's OCI layout
	env     []string          // the engine's environment
	files   map[string]string // files to add to the root: path, content
}

// start runs the container and returns once it is created; the engine needs some more time until it
// responds.
func (s settings) start(ctx context.Context, c container) error {
	for _, dir := range []string{"upper", "work", "root", "bundle", "socket"} {
		if err := os.MkdirAll(filepath.Join(s.run, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Mkdir(s.pushFolder(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, dir := range []string{"store", "registry"} {
		if err := os.MkdirAll(s.cache.Path(dir), 0o755); err != nil {
			return err
		}
	}
	overlay := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", c.root, filepath.Join(s.run, "upper"), filepath.Join(s.run, "work"))
	root := filepath.Join(s.run, "root")
	if err := unix.Mount("overlay", root, "overlay", 0, overlay); err != nil {
		return fmt.Errorf("mount the engine's root: %w", err)
	}
	for path, content := range c.files {
		if err := build.WriteFile(filepath.Join(root, path), []byte(content), 0o644); err != nil {
			return err
		}
	}
	if err := s.startNetwork(ctx, c.root); err != nil {
		return err
	}
	spec, err := s.spec(c)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return err
	}
	bundle := filepath.Join(s.run, "bundle")
	if err := build.WriteFile(filepath.Join(bundle, "config.json"), data, 0o600); err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.runc(ctx, "run", "--detach", "--bundle", bundle, containerID)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("runc run: %w\n  %s", err, s.lastOfLog())
	}
	return nil
}

func (s settings) runc(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "runc", append([]string{"--root", filepath.Join(s.run, "runc")}, args...)...)
}

// running reports whether the container's first process, the engine, is alive.
func (s settings) running(ctx context.Context) bool {
	out, err := s.runc(ctx, "state", containerID).Output()
	var state specs.State
	return err == nil && json.Unmarshal(out, &state) == nil && state.Status == specs.StateRunning
}

// stop removes everything that start created, even after a crash of any part of it, and even if we
// were told to stop ourselves.
func (s settings) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if s.running(ctx) {
		// On this signal, the engine closes its databases.
		if err := s.runc(ctx, "kill", containerID, "TERM").Run(); err == nil {
			for end := time.Now().Add(15 * time.Second); s.running(ctx) && time.Now().Before(end); {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}
	// This fails only if there is no container, which is fine.
	_ = s.runc(ctx, "delete", "--force", containerID).Run()
	if err := s.stopNetwork(); err != nil {
		return err
	}
	if err := unmount(filepath.Join(s.run, "root")); err != nil {
		return err
	}
	if err := s.removeCgroups(); err != nil {
		return err
	}
	return os.RemoveAll(s.run)
}

// unmount detaches everything mounted at path.
func unmount(path string) error {
	for {
		err := unix.Unmount(path, unix.MNT_DETACH)
		switch {
		case errors.Is(err, unix.EINVAL), errors.Is(err, fs.ErrNotExist): // not a mount
			return nil
		case err != nil:
			return fmt.Errorf("unmount %s: %w", path, err)
		}
	}
}

// removeCgroups deletes the groups that the engine created below its own and runc leaves behind.
func (s settings) removeCgroups() error {
	groups, err := filepath.Glob("/sys/fs/cgroup/*/" + s.cgroup())
	if err != nil {
		return err
	}
	// Our own memory group may be nested deeper.
	own, err := ownCgroups()
	if err != nil {
		return err
	}
	for _, dir := range own {
		groups = append(groups, filepath.Join(dir, s.cgroup()))
	}
	for _, group := range groups {
		var dirs []string
		err := filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i := len(dirs) - 1; i >= 0; i-- {
			if err := os.Remove(dirs[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// ownCgroups lists the folders of this process's control groups.
func ownCgroups() ([]string, error) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		controller := strings.TrimPrefix(parts[1], "name=")
		dirs = append(dirs, filepath.Join("/sys/fs/cgroup", controller, parts[2]))
	}
	return dirs, nil
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

// spec describes the container to runc: privileged, but with its own root, processes, network and
// host name.
func (s settings) spec(c container) (*specs.Spec, error) {
	caps, err := capabilities()
	if err != nil {
		return nil, err
	}
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev"}},
		bind(s.cache.Path("store"), "/var/lib/dagger"),
		bind(s.cache.Path("registry"), "/var/lib/registry"),
		bind(s.pushFolder(), pushFolder),
		bind(filepath.Join(s.run, "socket"), "/run/dagger"),
		bind(c.content, "/usr/local/share/dagger/content", "ro"),
	}
	// Certificates that the host's owner added, for a network that needs them; the engine passes
	// them on to its containers.
	const certificates = "/usr/local/share/ca-certificates"
	if added, err := os.ReadDir(certificates); err == nil && len(added) > 0 {
		mounts = append(mounts, bind(certificates, certificates, "ro"))
	}
	umask := uint32(0o022)
	return &specs.Spec{
		Version: "1.0.2",
		Process: &specs.Process{
			User: specs.User{Umask: &umask},
			Args: []string{"/bin/sh", "-c", "docker-registry serve /etc/slipway/registry.yml & docker-registry serve /etc/slipway/push.yml & exec dagger-engine"},
			Env:  append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}, c.env...),
			Cwd:  "/",
			Capabilities: &specs.LinuxCapabilities{
				Bounding: caps, Effective: caps, Permitted: caps,
			},
		},
		Root:     &specs.Root{Path: filepath.Join(s.run, "root")},
		Hostname: "slipway-engine",
		Mounts:   mounts,
		Linux: &specs.Linux{
			CgroupsPath: s.cgroup(),
			Resources:   &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: true, Access: "rwm"}}},
			Devices:     hostDevices("/dev/net/tun", "/dev/fuse", "/dev/kvm"),
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.MountNamespace}, {Type: specs.CgroupNamespace},
				{Type: specs.NetworkNamespace, Path: s.netns()},
			},
		},
	}, nil
}

func bind(from, to string, options ...string) specs.Mount {
	return specs.Mount{Destination: to, Type: "bind", Source: from, Options: append([]string{"rbind"}, options...)}
}

// hostDevices describes those of the paths that exist on the host.
func hostDevices(paths ...string) []specs.LinuxDevice {
	var devices []specs.LinuxDevice
	for _, path := range paths {
		var stat unix.Stat_t
		if unix.Stat(path, &stat) != nil {
			continue
		}
		mode := fs.FileMode(0o666)
		devices = append(devices, specs.LinuxDevice{
			Path: path, Type: "c", FileMode: &mode,
			Major: int64(unix.Major(stat.Rdev)), Minor: int64(unix.Minor(stat.Rdev)),
		})
	}
	return devices
}

// lastOfLog returns the end of the engine's log, for an error message.
func (s settings) lastOfLog() string {
	data, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n  ")
}
