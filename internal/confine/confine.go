// Package confine runs tools as a user who owns nothing but the files they work on: OpenTofu and
// its providers run third-party code, and so will later tools. The runner itself is root and keeps
// the keys.
package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// user is the tools' user and group ID. It needs no entry in /etc/passwd.
const user = 65532

// Switches reports whether tools run as another user, which takes root.
func Switches() bool { return os.Geteuid() == 0 }

// Command prepares a tool to run as its own user and without supplementary groups. It dies with us,
// because nobody would record its work any more. Its environment is empty; os/exec would pass on ours.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if Switches() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
	}
	return cmd
}

// Run starts a command and waits for it. No program that it starts can gain privileges, through a
// set-user-ID bit or otherwise. The command has its own process group, so that Ctrl-C in a terminal
// only reaches us. What is left of the group when the command ends is killed.
func Run(cmd *exec.Cmd) error {
	group, err := newGroup()
	if err != nil {
		return err
	}
	defer group.end()
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pgid = true, group.id()
	ended := make(chan error)
	go func() {
		// The setting belongs to the thread and cannot be undone, so no other goroutine may ever
		// use this thread. The thread lives until the tool ends: the tool's death signal is sent
		// when the thread that started it ends.
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = cmd.Run()
		}
		ended <- err
	}()
	return <-ended
}

// Give makes the tools' user the owner of path and everything below it.
func Give(path string) error {
	if !Switches() {
		return nil
	}
	return filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, user, user)
	})
}

// Close denies the tools' user access to a file, or to a folder and everything below it. A missing
// path is fine. If tools do not run as another user, nothing changes.
func Close(path string) error {
	if !Switches() {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// The owner could open it again.
	if info.Sys().(*syscall.Stat_t).Uid == user {
		if err := os.Chown(path, os.Geteuid(), os.Getegid()); err != nil {
			return fmt.Errorf("deny the tools access to %s: %w", path, err)
		}
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, info.Mode().Perm()&^0o077); err != nil {
		return fmt.Errorf("deny the tools access to %s: %w", path, err)
	}
	return nil
}
