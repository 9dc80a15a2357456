package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// kubeletSettings are those that the kubelet insists on. It does not start with others.
var kubeletSettings = map[string]string{
	"kernel/keys/root_maxbytes": "25000000",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
}

const (
	settings = "/proc/sys"
	random   = "kernel/random" // whoever reads a file there gets something new
)

// isolate puts files with the host's values in place of all settings that belong to the whole kernel, and changes
// some of them. Those below net stay: they belong to the network namespace.
func isolate(changes map[string]string) error {
	own, err := os.Open(filepath.Join(settings, random))
	if err != nil {
		return err
	}
	defer own.Close()
	for _, name := range []string{"fs", "kernel", "vm"} {
		if err := replace(filepath.Join(settings, name)); err != nil {
			return err
		}
	}
	if err := syscall.Mount(fmt.Sprintf("/proc/self/fd/%d", own.Fd()), filepath.Join(settings, random), "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", random, err)
	}
	for name, value := range changes {
		if err := os.WriteFile(filepath.Join(settings, name), []byte(value+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// replace mounts a folder with the files of another in its place.
func replace(folder string) error {
	files, err := read(os.DirFS(folder))
	if err != nil {
		return err
	}
	if err := syscall.Mount("settings", folder, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount files at %s: %w", folder, err)
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// read returns the contents of all files. One that cannot be read is empty: some can only be written.
func read(tree fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir // such as that of binfmt_misc where it is not mounted
		case err != nil || d.IsDir():
			return err
		}
		files[name], _ = fs.ReadFile(tree, name)
		return nil
	})
	return files, err
}

// newBootID gives this start of the node an ID of its own. The kernel has only one for the start of the host.
func newBootID() error {
	id, err := os.ReadFile(filepath.Join(settings, random, "uuid"))
	if err != nil {
		return err
	}
	const file = "/tmp/boot_id"
	return errors.Join(os.WriteFile(file, id, 0o444), syscall.Mount(file, filepath.Join(settings, random, "boot_id"), "", syscall.MS_BIND, ""))
}
