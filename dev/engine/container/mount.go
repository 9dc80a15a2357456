package container

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Unmount detaches everything mounted at path.
func Unmount(path string) error {
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
