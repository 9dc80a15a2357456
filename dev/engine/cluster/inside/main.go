// Command inside makes a container a machine for Talos, by the name under which it is started:
//
//	boot      runs the node's init
//	kubelet   runs the kubelet
//	runc      runs runc for the node's containers
//
// The first two keep settings of the whole kernel away from the host: Talos and the kubelet set files instead.
// The third takes out of a container's configuration what this machine may not give.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	name := filepath.Base(os.Args[0])
	var err error
	switch name {
	case "boot":
		err = become("/sbin/init", keepFromHost(nodeSettings))
	case "kubelet":
		err = become("/usr/local/bin/kubelet.real", keepFromHost(kubeletSettings))
	case "runc":
		err = become("/usr/sbin/runc", lower(os.Args[1:]))
	default:
		err = fmt.Errorf("no program is called %q", name)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(1)
}

// become runs a program in place of this one, unless there was an error before.
func become(program string, err error) error {
	if err != nil {
		return err
	}
	return syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ())
}

// nodeSettings are those of the whole kernel that Talos sets, with the host's values. kubeletSettings are
// those that the kubelet insists on, with its values.
var (
	nodeSettings    = []string{"kernel/panic", "kernel/pid_max", "vm/overcommit_memory", "fs/inotify/max_user_instances", "fs/aio-max-nr"}
	kubeletSettings = []string{
		"vm/overcommit_memory=1", "vm/panic_on_oom=0", "kernel/panic=10", "kernel/panic_on_oops=1",
		"kernel/keys/root_maxkeys=1000000", "kernel/keys/root_maxbytes=25000000",
	}
)

// keepFromHost puts a file in place of each setting. All that this process starts reads and writes the file.
func keepFromHost(settings []string) error {
	for _, s := range settings {
		name, value, given := strings.Cut(s, "=")
		path := filepath.Join("/proc/sys", name)
		text := []byte(value + "\n")
		if !given {
			var err error
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		file := filepath.Join("/tmp", "sysctl-"+strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
		if err := syscall.Mount(file, path, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s at %s: %w", file, path, err)
		}
	}
	return nil
}
