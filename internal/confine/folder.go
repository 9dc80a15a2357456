package confine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A Folder is the one that tools work in. Its entries are made by us; what is below
// them is the tools' own, and may be anything: a link to a key, or a pipe that
// nobody writes to. So it is never opened by its path alone.
type Folder string

// Open makes the folder ready: its entries can be reached, and not listed or changed.
func (f Folder) Open() error {
	if !Switches() {
		return nil
	}
	return errors.Join(os.Chown(string(f), os.Geteuid(), os.Getegid()), os.Chmod(string(f), 0o711))
}

// Make makes folders in it, for the tools.
func (f Folder) Make(names ...string) error {
	for _, name := range names {
		path := filepath.Join(string(f), name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		if err := Give(path); err != nil {
			return err
		}
	}
	return nil
}

// Read reads a regular file that a tool left, by its name in the folder. It follows
// no link, and none on the way that leads out of the folder.
func (f Folder) Read(name string) ([]byte, error) {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", filepath.Join(string(f), name))
	}
	// In between it may have become a pipe, which must not hold us up.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if now, err := file.Stat(); !os.SameFile(info, now) {
		return nil, errors.Join(fmt.Errorf("%s was changed while it was read", filepath.Join(string(f), name)), err)
	}
	return io.ReadAll(file)
}

// Write writes a file for the tools, in the place of any other.
func (f Folder) Write(name string, data []byte) error {
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if Switches() {
		err = errors.Join(err, file.Chown(user, user))
	}
	return errors.Join(err, file.Close())
}
