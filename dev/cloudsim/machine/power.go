package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// groups is where the control groups are mounted, outside of the server.
const groups = "/control-groups"

// group is the control group that contains all processes of the server. All machines of an engine
// see each other's groups, so its name is that of no other server.
func (p *Player) group() string { return filepath.Join(groups, "slipway-"+p.plays.ID) }

// newGroup creates the server's control group and opens it.
func (p *Player) newGroup() (*os.File, error) {
	if err := os.MkdirAll(groups, 0o755); err != nil {
		return nil, err
	}
	if err := syscall.Mount("none", groups, "cgroup2", 0, ""); err != nil && !errors.Is(err, syscall.EBUSY) {
		return nil, fmt.Errorf("mount the control groups: %w", err)
	}
	// One is left if the whole container ended, or the server by itself.
	if err := p.removeGroup(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(p.group(), 0o755); err != nil {
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
	return p.removeGroup()
}

// removeGroup waits until the server's last process is gone, and with it the mount of its disk, and
// removes its control groups: what is started in one that was killed may be killed, too.
func (p *Player) removeGroup() error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		events, err := os.ReadFile(filepath.Join(p.group(), "cgroup.events"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if bytes.Contains(events, []byte("populated 0")) {
			return removeFolders(p.group())
		}
	}
	return fmt.Errorf("the processes of %s do not end", p.plays.Name)
}

// removeFolders deletes a folder and those in it, but no files: control groups have files that
// cannot be deleted.
func removeFolders(top string) error {
	var folders []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	for _, folder := range slices.Backward(folders) {
		if err == nil {
			err = syscall.Rmdir(folder)
		}
	}
	return err
}
