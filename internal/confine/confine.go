// Package confine starts tools as a user who owns nothing but what they work on:
// OpenTofu and its providers run code that is not ours, and so will what comes
// after them. The runner itself is root, and keeps the keys.
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

// user is the tools' user and group. It needs no entry in /etc/passwd.
const user = 65532

// Switches says whether tools run as another user. Only root can do that.
func Switches() bool { return os.Geteuid() == 0 }

// Command prepares a tool: as its own user, without further groups, and in a
// process group of its own, so that a terminal's Ctrl-C reaches only us. It dies
// with us, because nobody would write down any more what it does. Its environment is
// empty, where os/exec would pass ours on.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if Switches() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
	}
	return cmd
}

// Run starts a command and waits for it. No program that it starts can gain
// rights, by a set-user-ID bit or otherwise.
func Run(cmd *exec.Cmd) error {
	ended := make(chan error)
	go func() {
		// The setting is one of a thread, and for good: no other goroutine is to
		// have this thread again. It lives until the tool has ended, because the end
		// of the thread that started it is the death of which the tool is told.
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = cmd.Run()
		}
		ended <- err
	}()
	return <-ended
}

// Give makes the tools' user the owner of what is at path, and below it.
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

// Close keeps the tools' user out of a file, or of a folder and all below it. What
// is not there is closed. Where tools are no other user, files stay as they are.
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
	// Who owns it could open it again.
	if info.Sys().(*syscall.Stat_t).Uid == user {
		if err := os.Chown(path, os.Geteuid(), os.Getegid()); err != nil {
			return fmt.Errorf("keep the tools out of %s: %w", path, err)
		}
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, info.Mode().Perm()&^0o077); err != nil {
		return fmt.Errorf("keep the tools out of %s: %w", path, err)
	}
	return nil
}
