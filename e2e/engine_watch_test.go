//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// watchEngine ends the tests when their engine has stopped, if it has a socket on this machine: the CLI would wait for
// ever for the answer of a dead one. It keeps a connection open, and looks for the engine when that ends.
func watchEngine() {
	socket, local := strings.CutPrefix(os.Getenv("_EXPERIMENTAL_DAGGER_RUNNER_HOST"), "unix://")
	for local {
		conn, err := net.Dial("unix", socket)
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "the engine has stopped: %v\n", err)
			os.Exit(1)
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, conn) // the engine ends a silent one after half a minute
			_ = conn.Close()
		}
	}
}
