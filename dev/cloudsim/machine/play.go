package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"slipway/dev/cloudsim/ask"
)

// A Player is the first program of a machine's container.
type Player struct {
	Cloud string // URL of cloudsim
	Name  string // name of the machine
	Data  string // folder for the servers' disks

	plays   Server
	running *exec.Cmd     // nil: the server is off
	ended   chan struct{} // closed when the server shuts itself down
	boots   int           // Server.Boots when it was switched on
	off     bool          // it switched itself off; only valid when ended is closed
}

// lockName is the name of a file beside the disks.
const lockName = "lock"

// Play plays the server that the rack assigns, until ctx ends. It waits for another player on the
// same disks.
func (p *Player) Play(ctx context.Context) error {
	lock, err := os.OpenFile(filepath.Join(p.Data, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("wait for another machine on %s: %w", p.Data, err)
	}
	for {
		server, err := p.ask(ctx)
		if err != nil && ctx.Err() == nil {
			log.Printf("error: %v", err)
		} else if err == nil {
			if err := p.become(ctx, server); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return p.halt()
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// become does what has to be done between the current and the next assignment.
func (p *Player) become(ctx context.Context, s Server) error {
	if p.plays.ID != s.ID && p.plays.ID != "" {
		if err := p.halt(); err != nil {
			return err
		}
		p.running = nil
	}
	p.plays = s
	if err := p.wipeOthers(s.ID); err != nil {
		return err
	}
	switch {
	case s.ID == "":
		return nil
	case s.Status == "ACTIVE" || s.Status == "BUILD" || s.Status == "REBOOT":
		switch {
		case p.boots != s.Boots: // the API was asked to reboot it, however long ago
			if err := p.halt(); err != nil {
				return err
			}
		case p.runs():
			return nil
		case p.running != nil && p.off:
			return p.reportOff(ctx)
		}
		log.Printf("%s boots", s.Name)
		return p.boot(ctx, s)
	default: // SHUTOFF, SHELVED and similar
		err := p.halt()
		p.running = nil
		return err
	}
}

// reportOff tells the cloud that the server switched itself off, as Nova notices it.
func (p *Player) reportOff(ctx context.Context) error {
	err := ask.Post(ctx, p.Cloud+Path+p.Name+"?"+offKey+"="+p.plays.ID)
	if err != nil {
		log.Printf("error: %v", err) // it is repeated
	}
	return nil
}

// disk returns the folder with a server's differences from the image.
func (p *Player) disk(id string) string { return filepath.Join(p.Data, id) }

// wipeOthers deletes the disks of servers that no longer exist.
func (p *Player) wipeOthers(keep string) error {
	entries, err := os.ReadDir(p.Data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == keep || e.Name() == lockName {
			continue
		}
		log.Printf("the disk of %s is wiped", e.Name())
		if err := os.RemoveAll(p.disk(e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// bootScript mounts the server's disk over the image and starts systemd. Its arguments are the disk
// and the name of the machine. Docker's data are beside the overlay: it needs one of its own, which
// the kernel does not put on another. The disk becomes the root of the mounts, which a chroot would
// not make it: what enters the mounts of a container that runs on it would then be outside of it.
const bootScript = `set -eu
# The network is the container's, and outlives a power cut. The server's own rules and bridges must not:
# packets to containers that do not run yet would vanish instead of being refused.
nft flush ruleset
ip -o link show type bridge | sed 's/^[0-9]*: //; s/[:@].*//' | while read -r bridge; do ip link delete "$bridge"; done
root=/server
mkdir -p "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
for data in docker containerd; do
  mkdir -p "$1/$data" "$root/var/lib/$data"
  mount --bind "$1/$data" "$root/var/lib/$data"
done
export container=slipway
cd "$root"
pivot_root . mnt
umount --lazy /mnt
exec /sbin/init
`

// boot starts systemd on the server's disk, in its own namespaces.
func (p *Player) boot(ctx context.Context, s Server) error {
	upper := filepath.Join(p.disk(s.ID), "upper")
	for _, folder := range []string{upper, filepath.Join(p.disk(s.ID), "work")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if err := p.seed(ctx, upper, s); err != nil {
		return err
	}
	group, err := p.newGroup()
	if err != nil {
		return err
	}
	defer group.Close()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "unshare", "--fork", "--pid", "--mount", "--cgroup", "--kill-child", "sh", "-c", bootScript, "boot", p.disk(s.ID), p.Name)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	// halt ends it, whatever else ends first. The cgroup namespace starts at the process's own
	// group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, UseCgroupFD: true, CgroupFD: int(group.Fd())}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("boot %s: %w", s.Name, err)
	}
	p.running, p.ended, p.boots, p.off = cmd, make(chan struct{}), s.Boots, false
	go func() {
		_ = cmd.Wait()
		log.Printf("%s ended: %s", s.Name, cmd.ProcessState)
		p.off = switchedOff(cmd.ProcessState)
		close(p.ended)
	}()
	return nil
}

// switchedOff reports whether a server ended because it switched itself off. The kernel kills the
// first process of a process namespace with this signal instead of switching off the machine, and
// with another one instead of rebooting it; unshare then ends by the same signal.
//
// https://man7.org/linux/man-pages/man2/reboot.2.html
func switchedOff(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}

// runs reports whether the server is on.
func (p *Player) runs() bool {
	if p.running == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// seed passes the metadata service's data to cloud-init.
//
// https://cloudinit.readthedocs.io/en/latest/reference/datasources/nocloud.html
func (p *Player) seed(ctx context.Context, upper string, s Server) error {
	var data struct {
		Hostname string            `json:"hostname"`
		Keys     map[string]string `json:"public_keys"`
	}
	metadata := p.Cloud + "/-/openstack-metadata/" + s.ID + "/openstack/latest/"
	if err := ask.JSON(ctx, metadata+"meta_data.json", &data); err != nil {
		return err
	}
	user, err := ask.Get(ctx, metadata+"user_data")
	if errors.Is(err, ask.ErrNone) {
		user, err = []byte("#cloud-config\n{}\n"), nil
	}
	if err != nil {
		return err
	}
	var keys []string
	for _, key := range data.Keys {
		keys = append(keys, strings.TrimSpace(key))
	}
	meta, err := json.Marshal(map[string]any{"instance-id": s.ID, "local-hostname": data.Hostname, "public-keys": keys})
	if err != nil {
		return err
	}
	if err := p.writeNames(ctx, upper, data.Hostname); err != nil {
		return err
	}
	for path, content := range map[string][]byte{
		"var/lib/cloud/seed/nocloud/meta-data": meta,
		"var/lib/cloud/seed/nocloud/user-data": user,
		// The network is up before the server boots.
		"etc/cloud/cloud.cfg.d/99-cloudsim.cfg": []byte("datasource_list: [NoCloud]\nnetwork: {config: disabled}\n"),
	} {
		path = filepath.Join(upper, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (p *Player) ask(ctx context.Context) (s Server, err error) {
	return s, ask.JSON(ctx, p.Cloud+Path+p.Name, &s)
}
