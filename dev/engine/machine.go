package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slipway/dev/engine/build"
	"slipway/dev/engine/console"
)

// hostPackages are the Debian packages that up installs on the host, to create Debian roots, to
// download the packages of the example's Node.js programs, and to run a container.
var hostPackages = map[string]string{ // program to look for: its package
	"mmdebstrap": "mmdebstrap",
	"npm":        "npm",
	"runc":       "runc",
}

// checkMachine refuses a machine on which no engine can be built.
func checkMachine() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return console.Refuse("start Docker and install the Dagger CLI "+daggerVersion, "an engine is only built on linux/amd64, not on %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if err := checkRoot(); err != nil {
		return err
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return console.Refuse("start Docker and install the Dagger CLI "+daggerVersion, "an engine is only built on Debian and its derivatives: there is no apt-get")
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return console.Refuse("modprobe tun", "the engine's network needs /dev/net/tun: %v", err)
	}
	return nil
}

func checkRoot() error {
	if uid := os.Geteuid(); uid != 0 {
		return console.Refuse("sudo make engine, or start Docker and install the Dagger CLI "+daggerVersion, "only root can build and run an engine, and this is user %d", uid)
	}
	return nil
}

// Disk space in GB that an empty cache will need, and that a start needs once everything is built.
const (
	roomToBuild = 15
	roomToStart = 3
)

// checkRoom refuses a disk that would fill up halfway.
func (s settings) checkRoom(builds bool) error {
	need := roomToStart
	if builds {
		need = roomToBuild
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(string(s.cache), &stat); err != nil {
		return err
	}
	if free := int(stat.Bavail * uint64(stat.Bsize) / 1e9); free < need {
		return console.Refuse("export SLIPWAY_CACHE_DIR=/a/larger/disk/slipway", "%s has %d GB left, and the engine needs %d", s.cache, free, need)
	}
	return nil
}

// checkPort refuses when another program uses the registry's port.
func (s settings) checkPort(ctx context.Context) error {
	if s.running(ctx) {
		return nil // our own registry uses it
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.registryAddress())
	if errors.Is(err, unix.EADDRINUSE) {
		if _, ok := s.pasta(); ok {
			return nil // left over from an engine of ours that died
		}
		return console.Refuse("export SLIPWAY_REGISTRY_PORT="+strconv.Itoa(s.port+1), "port %d on 127.0.0.1, meant for the registry, is in use", s.port)
	}
	if err != nil {
		return err
	}
	return listener.Close()
}

// checkNetwork sends one small request to the module proxy, so that a machine without a network is
// refused before anything is installed.
func (s settings) checkNetwork(ctx context.Context) error {
	_, err := s.cache.GoCommand(ctx, s.cache.Scratch(), []string{"GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOMODCACHE=" + s.cache.Scratch()}, "list", "-m", daggerPrograms.Module.String())
	return err
}

// installPackages installs the missing packages of hostPackages.
func installPackages(ctx context.Context) error {
	var missing []string
	for program, name := range hostPackages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	defer console.During("install " + strings.Join(missing, ", "))()
	for _, args := range [][]string{
		{"update", "-qq"},
		append([]string{"install", "-y", "-qq", "--no-install-recommends", "debian-archive-keyring"}, missing...),
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if _, err := build.Output(cmd); err != nil {
			return err
		}
	}
	return nil
}

// lock waits until no other up, down or clean uses the same cache.
func (s settings) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(string(s.cache), 0o755); err != nil {
		return nil, err
	}
	// The lock is beside the cache, because clean deletes the cache.
	f, err := os.OpenFile(string(s.cache)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for said := false; ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", filepath.Base(f.Name()), err)
		}
		if !said {
			console.Say("another engine command is running; waiting for it")
			said = true
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
