// Command inside makes a container a machine for Talos, by the name under which it is started:
//
//	boot      runs the node's init
//	kubelet   runs the kubelet
//	runc      runs runc for the node's containers
//
// For the first two, the settings of the whole kernel are files: nothing that runs in a node changes the host.
// The third takes out of a container's configuration what this machine may not give.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

func main() {
	name := filepath.Base(os.Args[0])
	var err error
	switch name {
	case "boot":
		err = become("/sbin/init", errors.Join(isolate(nil), newBootID()))
	case "kubelet":
		err = become("/usr/local/bin/kubelet.real", isolate(kubeletSettings))
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
