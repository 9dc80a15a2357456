package container

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// NewNetwork creates a network namespace and keeps it alive with a mount at path, until Unmount.
func NewNetwork(path string) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	result := make(chan error)
	go func() {
		// Never unlocked, so that the thread ends with this goroutine.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			result <- err
			return
		}
		result <- unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
	}()
	if err := <-result; err != nil {
		return fmt.Errorf("create a network namespace: %w", err)
	}
	return nil
}
