package machine

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// groups is where the control groups are mounted, outside of the server.
const groups = "/control-groups"

// group is the control group that contains all processes of the server.
func (p *Player) group() string { return filepath.Join(groups, "slipway-"+p.Name) }

// ownGroup creates the server's control group and opens it.
func (p *Player) ownGroup() (*os.File, error) {
	if err := os.MkdirAll(groups, 0o755); err != nil {
		return nil, err
	}
	if err := syscall.Mount("none", groups, "cgroup2", 0, ""); err != nil && !errors.Is(err, syscall.EBUSY) {
		return nil, fmt.Errorf("mount the control groups: %w", err)
	}
	if err := os.MkdirAll(p.group(), 0o755); err != nil {
		return nil, err
	}
	return os.Open(p.group())
}

// halt ends the server like a power cut: all its processes at once, in the middle of whatever they
// do. What they have written to the disk is kept.
func (p *Player) halt() error {
	if !p.runs() {
		return nil
	}
	log.Printf("%s halts", p.plays.Name)
	err := os.WriteFile(filepath.Join(p.group(), "cgroup.kill"), []byte("1"), 0o600)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // kernels before 5.14 have none
		return err
	}
	if err := p.running.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	return p.awaitEmpty()
}

// awaitEmpty waits until the server's last process is gone, and with it the mount of its disk.
func (p *Player) awaitEmpty() error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		events, err := os.ReadFile(filepath.Join(p.group(), "cgroup.events"))
		if err != nil {
			return err
		}
		if bytes.Contains(events, []byte("populated 0")) {
			return nil
		}
	}
	return fmt.Errorf("the processes of %s do not end", p.plays.Name)
}
