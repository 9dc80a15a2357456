package container

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// removeGroups deletes the control groups that the container's processes created below its own and runc
// leaves behind.
func (c Container) removeGroups() error {
	groups, err := filepath.Glob("/sys/fs/cgroup/*/" + c.Group)
	if err != nil {
		return err
	}
	// Our own memory group may be nested deeper.
	own, err := ownGroups()
	if err != nil {
		return err
	}
	for _, dir := range own {
		groups = append(groups, filepath.Join(dir, c.Group))
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
			if err := removeGroup(dirs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeGroup deletes a control group, once the last of its processes, which are killed, has ended.
func removeGroup(dir string) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return err
		}
	}
}

// ownGroups lists the folders of this process's control groups.
func ownGroups() ([]string, error) {
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
