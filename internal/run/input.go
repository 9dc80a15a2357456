package run

import (
	"errors"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"

	"slipway/internal/fault"
	"slipway/internal/printable"
)

// refuseInput refuses what no command may read or use, before anything is read.
func (r *Run) refuseInput() error {
	if err := RefuseProxies(os.Getenv); err != nil {
		return err
	}
	return refuseLinks(r.Repository)
}

// refuseLinks refuses a symbolic link that leads out of the repository, directly or through others:
// its target would be read as if it had been reviewed. An absolute link always counts as leading
// out: the repository may be elsewhere tomorrow.
func refuseLinks(repository string) error {
	root, err := os.OpenRoot(repository)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the command needs no repository
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch entry.Name() {
			case ".git", ".terraform", ".slipway", "node_modules": // nothing reads these
				return fs.SkipDir
			}
			return nil
		}
		if entry.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		// An os.Root follows links but refuses to leave. A broken link reads as nothing.
		if _, err := root.Stat(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Refuse("git rm -- "+printable.Word(name), "%s is a symbolic link that leads out of the repository, or a loop", printable.Line(name))
		}
		return nil
	})
}

// proxyVariables are the variables from which programs take a proxy.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// RefuseProxies refuses a proxy whose password would cross the network unencrypted. get returns an
// environment variable.
func RefuseProxies(get func(string) string) error {
	for _, name := range proxyVariables {
		at, err := url.Parse(get(name))
		if err == nil && at.User != nil && at.Scheme != "https" && !loopback(at.Hostname()) {
			return fault.Refuse("write it as https://…, or without user and password", "%s sends a password to %s without encryption", name, printable.Line(at.Hostname()))
		}
	}
	return nil
}

func loopback(host string) bool {
	address, _ := netip.ParseAddr(host) // a name is the zero address, which is not loopback
	return host == "localhost" || address.IsLoopback()
}
