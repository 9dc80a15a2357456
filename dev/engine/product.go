package main

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
)

// A product is a folder whose content follows from its inputs alone: compiled programs, a Debian
// root, an image. It is made once and cached under the digest of its inputs, with the digest of its
// content beside it.
type product struct {
	name   string
	inputs []string // everything that the content depends on, in a fixed order
	make   func(ctx context.Context, dir string) error
}

// key returns the name of the product's folder.
func (p product) key() string { return p.name + "-" + digestOf(p.inputs) }

// digestOf is short enough for a path and long enough not to collide.
func digestOf(inputs []string) string {
	sum := sha256.Sum256([]byte(strings.Join(inputs, "\x00")))
	return hex.EncodeToString(sum[:])[:16]
}

// The products' folders in the cache.
func (s settings) products() string            { return filepath.Join(s.cache, "products") }
func (s settings) productDir(p product) string { return filepath.Join(s.products(), p.key()) }
func (s settings) productSum(p product) string { return s.productDir(p) + ".sha256" }

// have reports whether p was made before. It does not check the content: ensure does.
func (s settings) have(p product) bool {
	_, err := os.Stat(s.productSum(p))
	return err == nil
}

// ensured contains, for this process, a function for each product that checks or makes it, once.
var ensured sync.Map

// ensure returns the folder of p, complete and undamaged.
func (s settings) ensure(ctx context.Context, p product) (string, error) {
	once, _ := ensured.LoadOrStore(p.key(), sync.OnceValues(func() (string, error) { return s.restoreOrMake(ctx, p) }))
	return once.(func() (string, error))()
}

// restoreOrMake makes p unless an undamaged copy is in the cache. The folder and then its digest
// are each put in place by one rename, so an interruption leaves either a complete product or none.
func (s settings) restoreOrMake(ctx context.Context, p product) (string, error) {
	dir, sum := s.productDir(p), s.productSum(p)
	if want, err := os.ReadFile(sum); err == nil {
		got, err := treeDigest(dir)
		if err == nil && got == string(want) {
			return dir, nil
		}
		say("%s is damaged in the cache: rebuilding it", p.name)
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
	done := during("make " + p.name)
	if err := p.make(ctx, partial); err != nil {
		return "", fmt.Errorf("make %s: %w", p.name, err)
	}
	done()
	digest, err := treeDigest(partial)
	if err != nil {
		return "", err
	}
	if err := os.Rename(partial, dir); err != nil {
		return "", err
	}
	if err := writeFile(sum, []byte(digest), 0o644); err != nil {
		return "", err
	}
	return dir, s.dropOlder(p)
}

// dropOlder deletes products with p's name that were made from other inputs.
func (s settings) dropOlder(p product) error {
	entries, err := os.ReadDir(s.products())
	if err != nil {
		return err
	}
	keep := p.key()
	for _, e := range entries {
		key := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".sha256"), ".partial")
		if i := strings.LastIndexByte(key, '-'); i < 0 || key[:i] != p.name || key == keep {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.products(), e.Name())); err != nil {
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
			return copyFile(sum, path)
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

// copyFile writes the content of the file at path to w.
func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// writeFile replaces path by one rename, so that no reader sees a partial file.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	partial := path + ".partial"
	if err := os.WriteFile(partial, data, mode); err != nil {
		return err
	}
	return os.Rename(partial, path)
}
