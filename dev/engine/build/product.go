// Package build makes what a machine that reaches no registry cannot pull: programs out of Go modules, Debian
// roots, and images. Whatever it makes follows from its inputs alone, and is kept under their digest.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"slipway/dev/engine/console"
)

// A Product is a folder whose content follows from its inputs alone: compiled programs, a Debian
// root, an image. It is made once and cached under the digest of its inputs, with the digest of its
// content beside it.
type Product struct {
	Name   string
	Inputs []string // everything that the content depends on, in a fixed order
	Make   func(ctx context.Context, dir string) error
}

// Key returns the name of the product's folder.
func (p Product) Key() string { return p.Name + "-" + DigestOf(p.Inputs) }

// DigestOf is short enough for a path and long enough not to collide.
func DigestOf(inputs []string) string {
	sum := sha256.Sum256([]byte(strings.Join(inputs, "\x00")))
	return hex.EncodeToString(sum[:])[:16]
}

// A Cache is the folder with everything built or downloaded. It is safe to delete while the engine is down.
type Cache string

// Path joins names below the cache.
func (c Cache) Path(names ...string) string {
	return filepath.Join(append([]string{string(c)}, names...)...)
}

// Scratch is for files that only one run needs.
func (c Cache) Scratch() string { return c.Path("scratch") }

// Products is the folder of the products. Each has one of its own, and its digest beside it.
func (c Cache) Products() string     { return c.Path("products") }
func (c Cache) dir(p Product) string { return filepath.Join(c.Products(), p.Key()) }
func (c Cache) sum(p Product) string { return c.dir(p) + ".sha256" }

// Have reports whether p was made before. It does not check the content: Ensure does.
func (c Cache) Have(p Product) bool {
	_, err := os.Stat(c.sum(p))
	return err == nil
}

// ensured contains, for this process, a function for each product that checks or makes it, once.
var ensured sync.Map

// Ensure returns the folder of p, complete and undamaged.
func (c Cache) Ensure(ctx context.Context, p Product) (string, error) {
	once, _ := ensured.LoadOrStore(p.Key(), sync.OnceValues(func() (string, error) { return c.restoreOrMake(ctx, p) }))
	return once.(func() (string, error))()
}

// restoreOrMake makes p unless an undamaged copy is in the cache. The folder and then its digest
// are each put in place by one rename, so an interruption leaves either a complete product or none.
func (c Cache) restoreOrMake(ctx context.Context, p Product) (string, error) {
	dir, sum := c.dir(p), c.sum(p)
	if want, err := os.ReadFile(sum); err == nil {
		got, err := treeDigest(dir)
		if err == nil && got == string(want) {
			return dir, nil
		}
		console.Say("%s is damaged in the cache: rebuilding it", p.Name)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, stale := range []string{sum, dir} {
		if err := os.RemoveAll(stale); err != nil {
			return "", err
		}
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return "", err
	}
	done := console.During("make " + p.Name)
	if err := p.Make(ctx, partial); err != nil {
		return "", fmt.Errorf("make %s: %w", p.Name, err)
	}
	done()
	digest, err := treeDigest(partial)
	if err != nil {
		return "", err
	}
	if err := os.Rename(partial, dir); err != nil {
		return "", err
	}
	if err := WriteFile(sum, []byte(digest), 0o644); err != nil {
		return "", err
	}
	return dir, c.dropOlder(p)
}

// dropOlder deletes products with p's name that were made from other inputs.
func (c Cache) dropOlder(p Product) error {
	entries, err := os.ReadDir(c.Products())
	if err != nil {
		return err
	}
	keep := p.Key()
	for _, e := range entries {
		key := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".sha256"), ".partial")
		if i := strings.LastIndexByte(key, '-'); i < 0 || key[:i] != p.Name || key == keep {
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.Products(), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// treeDigest is the SHA-256 over the sorted paths, kinds, modes and contents below dir.
func treeDigest(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s\x00%o\x00%d\x00", name, info.Mode(), info.Size())
		switch {
		case info.Mode().IsRegular():
			return CopyFile(sum, path)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(sum, "%s\x00", target)
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// CopyFile writes the content of the file at path to w.
func CopyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// WriteFile replaces path by one rename, so that no reader sees a partial file.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	partial := path + ".partial"
	if err := os.WriteFile(partial, data, mode); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

// Install copies the file at from.
func Install(from, to string, mode fs.FileMode) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := CopyFile(f, from); err != nil {
		return err
	}
	return f.Close()
}
