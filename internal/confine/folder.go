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

// A Folder is the folder in which tools work. Its entries are created by us. What is below them
// belongs to the tools and may be anything: a link to a key, or a pipe without a writer. So nothing
// there is ever opened by path alone.
type Folder string

// Open prepares the folder: the tools can use its entries, but cannot list or change them.
func (f Folder) Open() error {
	if !Switches() {
		return nil
	}
	return errors.Join(os.Chown(string(f), os.Geteuid(), os.Getegid()), os.Chmod(string(f), 0o711))
}

// Make creates folders in it for the tools.
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

// Read reads a regular file that a tool left, by its name in the folder. It does not follow links
// that are the file itself or lead out of the folder.
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
		return nil, fmt.Errorf("%s is not a regular file", filepath.Join(string(f), name))
	}
	// It may have become a pipe meanwhile, which must not block us.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if now, err := file.Stat(); !os.SameFile(info, now) {
		return nil, errors.Join(fmt.Errorf("%s was changed while being read", filepath.Join(string(f), name)), err)
	}
	return io.ReadAll(file)
}

// Write writes a file for the tools and replaces an existing one.
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
