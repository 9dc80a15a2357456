package stage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"slipway/internal/refusal"
)

// leaveBehind says what no tool needs of a repository: its history, what earlier
// runs left, and the sealed credentials.
func leaveBehind(path string, entry fs.DirEntry) bool {
	switch entry.Name() {
	case ".git", ".terraform", ".slipway", ".env", "node_modules":
		return true
	}
	return path == "credentials" || strings.Contains(entry.Name(), ".tfstate")
}

// copyRepository copies the repository into the work folder, because tofu writes
// beside its code.
func (s *session) copyRepository() error {
	from, to := s.Repository, s.path("repository")
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case name != "." && leaveBehind(name, entry):
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
			if filepath.IsAbs(link) {
				return refusal.New("git rm "+name, "%s is a symbolic link out of the repository", name)
			}
			return os.Symlink(link, target)
		case entry.Type().IsRegular():
			return copyFile(path, target)
		}
		return nil // a socket or the like
	})
	return s.fullWork(err)
}

// fullWork explains the error of a full work folder.
func (s *session) fullWork(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the work folder %s is full: nothing was changed; give the engine more memory, or keep large files out of the repository: %w", s.Work, err)
	}
	return err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
