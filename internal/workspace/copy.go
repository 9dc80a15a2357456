package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"slipway/internal/cluster"
	"slipway/internal/confine"
	"slipway/internal/manifest"
	"slipway/internal/run"
)

// excluded reports whether no tool needs a path: the repository's history, leftovers of earlier
// runs, encrypted credentials, and other environments.
func excluded(r *run.Run, path string, entry fs.DirEntry) bool {
	switch entry.Name() {
	case ".git", ".terraform", ".slipway", ".env", "node_modules":
		return true
	}
	return path == "credentials" || strings.Contains(entry.Name(), ".tfstate") || otherEnvironment(r, path)
}

// otherEnvironment reports whether a path is another environment's folder, so that changes there do
// not matter here. A folder without environment.yaml is shared code.
func otherEnvironment(r *run.Run, path string) bool {
	if r.Environment == nil || filepath.Dir(path) != "environments" || filepath.Base(path) == r.Env {
		return false
	}
	return exists(filepath.Join(r.Repository, path, "environment.yaml"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// copyRepository copies the repository into the work folder, because tofu writes beside its code.
// It returns the digest of everything it copies.
func copyRepository(r *run.Run) (digest string, err error) {
	from, to := r.Repository, r.Path("repository")
	all := sha256.New()
	note := func(kind, name, content string) {
		fmt.Fprintf(all, "%s %q %s\n", kind, filepath.ToSlash(name), content)
	}
	err = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case name != "." && excluded(r, name, entry):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			note("link", name, strconv.Quote(link))
			return os.Symlink(link, target)
		case entry.Type().IsRegular():
			mode, digest, err := copyFile(path, target)
			note(mode.String(), name, digest)
			return err
		}
		return nil // a socket or similar
	})
	if err != nil {
		return "", Full(r, err)
	}
	if r.Environment != nil {
		files := append(slices.Clone(r.Environment.CredentialFiles), r.Environment.PlanCredentialFiles...)
		if machines := cluster.SecretsFile(r.Env); exists(filepath.Join(from, machines)) {
			files = append(files, machines)
		}
		slices.Sort(files)
		for _, name := range slices.Compact(files) {
			data, err := os.ReadFile(filepath.Join(from, name))
			if err != nil {
				return "", err
			}
			note("sealed", name, manifest.Digest(data))
		}
	}
	if err := confine.Give(to); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil)), nil
}

// Digests returns what copyRepository would note of the files below a folder of the repository: mode
// and digest, by path. Without the folder, it returns none.
func Digests(r *run.Run, folder string) (map[string]string, error) {
	digests := map[string]string{}
	err := filepath.WalkDir(filepath.Join(r.Repository, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.Repository, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case excluded(r, name, entry):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			digests[name] = "link " + link
			return err
		case entry.Type().IsRegular():
			mode, digest, err := copyFile(path, os.DevNull)
			digests[name] = mode.String() + " " + digest
			return err
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return digests, err
}

// copyFile copies content and the executable bit, and returns the mode and digest of the copy.
func copyFile(from, to string) (mode fs.FileMode, digest string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, "", err
	}
	mode = 0o600 | info.Mode().Perm()&0o100
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return 0, "", err
	}
	content := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, content), in)
	return mode, hex.EncodeToString(content.Sum(nil)), errors.Join(err, out.Close())
}
